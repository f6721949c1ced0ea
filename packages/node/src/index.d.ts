// SPDX-License-Identifier: Apache-2.0
/// <reference types="node" />

/** Hosts and sockets. Names, *.names and addresses; `:port` limits an entry to that port. */
export interface NetworkConfig {
  /** No other host can be reached, except those that the ask callback allows. */
  allowedDomains: string[]
  /** Wins over allowedDomains. `*` denies every host. */
  deniedDomains: string[]
  /** Texts to report, by entry of deniedDomains. */
  deniedDomainReasons?: Record<string, string>
  /** Deny hosts that no list names, without asking. */
  strictAllowlist?: boolean
  /** Addresses and ranges to which an allowed name must not lead. */
  deniedResolvedAddresses?: string[]
  allowUnixSockets?: string[]
  allowAllUnixSockets?: boolean
  /** This machine's loopback, in both directions. */
  allowLocalBinding?: boolean
  allowMachLookup?: string[]
  httpProxyPort?: number
  socksProxyPort?: number
  parentProxy?: { http?: string; https?: string; noProxy?: string }
  /** Connections to these hosts leave through the proxy behind the socket. */
  mitmProxy?: { socketPath: string; domains: string[] }
  /** Decides about each request that the policy allows; or the Unix socket of a program that does. */
  filterRequest?: FilterRequestCallback | string
  /** filterRequest may set header fields of requests that are not encrypted. */
  allowPlaintextHeaderSet?: boolean
  /** Header fields of answers that commands do not get. */
  stripResponseHeaders?: string[]
  /** Refuse what cannot be read as requests. */
  refuseOpaqueTunnels?: boolean
  requireHostMatch?: boolean
  ambiguousRequestTarget?: 'refuse' | 'asSpelled' | 'normalize'
  /** Decrypt TLS to all allowed hosts, except excludeDomains. */
  tlsTerminate?: {
    caCertPath?: string
    caKeyPath?: string
    excludeDomains?: string[]
    extraCaCertPaths?: string[]
    maxTunnels?: number
    handshakeTimeoutMs?: number
  }
}

export interface FilesystemConfig {
  /** Apply no rules to files. */
  disabled?: boolean
  /** Everything else can be read. */
  denyRead: string[]
  /** Readable although denyRead covers it. */
  allowRead?: string[]
  /** Nothing else can be written. */
  allowWrite: string[]
  /** Wins over allowWrite. */
  denyWrite: string[]
  allowGitConfig?: boolean
}

/** Parts of commands, or `*`, to parts of the lines that are not kept. */
export type IgnoreViolationsConfig = Record<string, string[]>

/**
 * The configuration. Buckle accepts what other programs need for their own sandboxes, such as the
 * path of bwrap, without using it.
 */
export interface SandboxRuntimeConfig {
  network: NetworkConfig
  filesystem: FilesystemConfig
  ignoreViolations?: IgnoreViolationsConfig
  credentials?: CredentialsConfig
  allowPty?: boolean
  allowAppleEvents?: boolean
  enableWeakerNestedSandbox?: boolean
  enableWeakerNetworkIsolation?: boolean
  mandatoryDenySearchDepth?: number
  ripgrep?: { command: string; args?: string[]; argv0?: string }
  seccomp?: { applyPath?: string; argv0?: string }
  bwrapPath?: string
  socatPath?: string
  javaAgentJarPath?: string
  git?: { safeDirectories?: string[] }
}

export interface NetworkHostPattern {
  host: string
  port: number | undefined
}

/** Asked about a host that no list names. An error is a no. */
export type SandboxAskCallback = (params: NetworkHostPattern) => Promise<boolean>

export interface FsReadRestrictionConfig {
  denyOnly: string[]
  allowWithinDeny?: string[]
}

export interface FsWriteRestrictionConfig {
  allowOnly: string[]
  denyWithinAllow: string[]
}

export interface NetworkRestrictionConfig {
  allowedHosts?: string[]
  deniedHosts?: string[]
}

export interface SandboxDependencyCheck {
  errors: string[]
  warnings: string[]
}

export type Platform = 'macos' | 'linux' | 'windows' | 'unknown'

export interface SandboxViolationEvent {
  /** `touch(4711) deny(1) file-write-create /etc/x` */
  line: string
  command?: string
  encodedCommand?: string
  timestamp: Date
  /** `file-write-create`; like the rest, only of Buckle's own violations. */
  operation?: string
  /** A path or a host. */
  target?: string
  pid?: number
  program?: string
  rule?: { kind: string; file?: string; line?: number; text?: string }
}

/** Keeps the newest hundred. */
export declare class SandboxViolationStore {
  constructor(refresh?: () => void)
  addViolation(violation: SandboxViolationEvent): void
  getViolations(limit?: number): SandboxViolationEvent[]
  getCount(): number
  /** Of all there ever were. */
  getTotalCount(): number
  /** The command, or the id that it was wrapped with. */
  getViolationsForCommand(command: string): SandboxViolationEvent[]
  clear(): void
  /** Called at once, and after every change. Returns a function that ends it. */
  subscribe(listener: (violations: SandboxViolationEvent[]) => void): () => void
}

export interface WrapWithSandboxOptions {
  /** What violations are found by later; without it, the command. */
  commandId?: string
  /** The command as people know it, if that differs from the one to run. */
  commandText?: string
  /** Everything can be granted while it runs; without kernel walls, the judge alone decides. */
  grantable?: boolean
}

export interface ISandboxManager {
  initialize(
    runtimeConfig: SandboxRuntimeConfig,
    sandboxAskCallback?: SandboxAskCallback,
    enableLogMonitor?: boolean,
  ): Promise<void>
  isSupportedPlatform(): boolean
  isSandboxingEnabled(): boolean
  checkDependencies(ripgrepConfig?: { command: string; args?: string[] }): SandboxDependencyCheck
  checkDependenciesAsync(ripgrepConfig?: { command: string; args?: string[] }): Promise<SandboxDependencyCheck>
  waitForNetworkInitialization(): Promise<boolean>
  /** A line for a shell that runs the command in the sandbox. */
  wrapWithSandbox(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    options?: WrapWithSandboxOptions,
  ): Promise<string>
  /** The same as words, without a shell. */
  wrapWithSandboxArgv(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    cwd?: string,
    options?: WrapWithSandboxOptions,
  ): Promise<{ argv: string[]; env: NodeJS.ProcessEnv }>
  /** For the next commands and, on Linux, for those that run. Throws if it is wrong. */
  updateConfig(newConfig: SandboxRuntimeConfig): void
  getConfig(): SandboxRuntimeConfig | undefined
  getFsReadConfig(): FsReadRestrictionConfig
  getFsWriteConfig(): FsWriteRestrictionConfig
  getNetworkRestrictionConfig(): NetworkRestrictionConfig
  getAllowUnixSockets(): string[] | undefined
  getAllowLocalBinding(): boolean | undefined
  getAllowMachLookup(): string[] | undefined
  getIgnoreViolations(): Record<string, string[]> | undefined
  getEnableWeakerNestedSandbox(): boolean | undefined
  getProxyPort(): number | undefined
  getProxyAuthToken(): string | undefined
  getSocksProxyPort(): number | undefined
  getLinuxHttpSocketPath(): string | undefined
  getLinuxSocksSocketPath(): string | undefined
  getLinuxGlobPatternWarnings(): string[]
  getMitmCA(): undefined
  getSentinelRegistry(): undefined
  getAwsPairRegistry(): undefined
  getMaskedFileStore(): undefined
  getSandboxViolationStore(): SandboxViolationStore
  /** Appends what was denied to the error output of a command that has ended. */
  annotateStderrWithSandboxFailures(command: string, stderr: string): string
  /** Opens a path or a host until reset(). Returns what waits for the next command. */
  grant(more: { read?: string; write?: string; host?: string }): Promise<string[]>
  cleanupAfterCommand(): void
  /** Ends the session and forgets its grants. */
  reset(): Promise<void>
}

export declare const SandboxManager: ISandboxManager

/** Checks values as a schema does. */
export interface ConfigSchema<T> {
  parse(value: unknown): T
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: Error & { issues: { path: string[]; message: string }[] } }
}
export declare const SandboxRuntimeConfigSchema: ConfigSchema<SandboxRuntimeConfig>
export declare const NetworkConfigSchema: ConfigSchema<NetworkConfig>
export declare const FilesystemConfigSchema: ConfigSchema<FilesystemConfig>
export declare const IgnoreViolationsConfigSchema: ConfigSchema<IgnoreViolationsConfig>
export declare const RipgrepConfigSchema: ConfigSchema<{ command: string; args?: string[]; argv0?: string }>

export declare function getDefaultWritePaths(): string[]
export declare function getWslVersion(): string | undefined

export type CredentialMode = 'deny' | 'mask'
interface CredentialMask {
  mode: CredentialMode
  /** Mask the first group of this pattern only. */
  extract?: string
  onExtractNoMatch?: 'warn' | 'deny' | 'error'
  decode?: 'jwt'
  maskClaims?: string[]
  /** Hosts that get the secret; all allowed ones by default. */
  injectHosts?: string[]
}
export interface CredentialFileConfig extends CredentialMask {
  path: string
  maskDuplicates?: boolean
}
export interface CredentialEnvVarConfig extends CredentialMask {
  name: string
}
export interface CredentialsConfig {
  files?: CredentialFileConfig[]
  envVars?: CredentialEnvVarConfig[]
  allowPlaintextInject?: boolean
  awsPairs?: { accessKeyIdVar: string; secretAccessKeyVar: string; sessionTokenVar?: string }[]
  sigv4?: Partial<Record<'streaming' | 'presigned' | 'sigv4a', 'deny' | 'passthrough'>>
}
export interface CredentialRestrictionConfig {
  denyReadPaths: string[]
  unsetEnvVars: string[]
}
export interface GitConfig {
  safeDirectories?: string[]
}
export interface RequestDecision {
  action: 'allow' | 'deny'
  /** The client gets it with the denial. */
  reason?: string
  /** 400 to 599; 403 by default. */
  status?: number
  /** Accepted without effect. */
  mark?: string
  /** Fields to remove from the request; case, and `-`, `_` and `.`, do not distinguish names. */
  removeHeaders?: string[]
  /** Fields to set, after the removal. */
  setHeaders?: [string, string][]
  /** Accepted without effect. */
  onResponse?: (status: number, headers: Record<string, string | string[] | undefined>) => void
}
/** What is known about a request beside it. */
export interface RequestInfo {
  scheme?: 'http' | 'https'
  sni?: string
  /** Of GET, HEAD and OPTIONS, whose request is shown without a body: whether it has one. */
  unshownBody?: () => Promise<boolean>
  target?: { host: string; port: number }
  /** Path and query, as the client wrote them. */
  requestTarget?: string
  normalizedRequestTarget?: string
  requestTargetIsAmbiguous?: boolean
  /** Names and values in turn; names in lower case. */
  rawHeaders?: string[]
}
/** An error is a denial. A body of more than 32 MiB is an error when it is read. */
export type FilterRequestCallback = (request: Request, info?: RequestInfo) => Promise<RequestDecision>
export type WindowsConfig = Record<string, unknown>
export type SrtWinConfig = Record<string, unknown>
export declare const CredentialsConfigSchema: ConfigSchema<CredentialsConfig>
export declare const GitConfigSchema: ConfigSchema<GitConfig>
export declare const WindowsConfigSchema: ConfigSchema<WindowsConfig>
export declare const SrtWinConfigSchema: ConfigSchema<SrtWinConfig>

export declare class LinuxSandboxProfileError extends Error {
  constructor(message: string, code: string)
  readonly code: string
}
export type LinuxSandboxProfileErrorCode = string

/** Windows, and decrypting proxies: Buckle has neither. These throw. */
export declare class WindowsSandboxError extends Error {
  constructor(message: string, code: string)
  readonly code: string
}
export declare const DEFAULT_WINDOWS_PROXY_PORT_RANGE: readonly [number, number]
export declare const SRT_WIN_DISPATCH_ARG1: string
export declare const VENDORED_SRT_WIN_EXE: string
export declare function buildGitConfigEnv(...args: unknown[]): never
export declare function certThumbprint(...args: unknown[]): never
export declare function checkWindowsDependenciesAsync(...args: unknown[]): never
export declare function checkWindowsSandboxStatus(...args: unknown[]): never
export declare function checkWindowsSandboxStatusAsync(...args: unknown[]): never
export declare function ensurePersistentWindowsCa(...args: unknown[]): never
export declare function expandWindowsFsPaths(...args: unknown[]): never
export declare function generateCa(...args: unknown[]): never
export declare function getSrtWinPath(...args: unknown[]): never
export declare function getWindowsSandboxCaCert(...args: unknown[]): never
export declare function getWindowsSandboxUserStatus(...args: unknown[]): never
export declare function getWindowsSandboxUserStatusAsync(...args: unknown[]): never
export declare function getWindowsWfpStatus(...args: unknown[]): never
export declare function getWindowsWfpStatusAsync(...args: unknown[]): never
export declare function grantWindowsAcl(...args: unknown[]): never
export declare function installWindowsSandbox(...args: unknown[]): never
export declare function installWindowsSandboxAsync(...args: unknown[]): never
export declare function isUncPath(...args: unknown[]): never
export declare function parseWindowsBinShell(...args: unknown[]): never
export declare function parseWindowsSandboxError(...args: unknown[]): never
export declare function resolveSrtWin(...args: unknown[]): never
export declare function restoreWindowsAcl(...args: unknown[]): never
export declare function revokeWindowsAcl(...args: unknown[]): never
export declare function stampWindowsAcl(...args: unknown[]): never
export declare function uninstallWindowsSandbox(...args: unknown[]): never
export declare function validateCaPair(...args: unknown[]): never
export declare function verifyWindowsWfpEgress(...args: unknown[]): never
export declare function windowsInstallInstructions(...args: unknown[]): never
export declare function windowsStateDir(...args: unknown[]): never
export declare function windowsTrustCa(...args: unknown[]): never
export declare function windowsTrustCaAsync(...args: unknown[]): never
