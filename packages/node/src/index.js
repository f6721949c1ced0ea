// SPDX-License-Identifier: Apache-2.0
export { SandboxManager } from './manager.js'
export { SandboxViolationStore } from './violations.js'
export {
  CredentialsConfigSchema,
  FilesystemConfigSchema,
  GitConfigSchema,
  IgnoreViolationsConfigSchema,
  NetworkConfigSchema,
  RipgrepConfigSchema,
  SandboxRuntimeConfigSchema,
  SrtWinConfigSchema,
  WindowsConfigSchema,
  getDefaultWritePaths,
} from './config.js'
export { getWslVersion } from './program.js'
export * from './unsupported.js'
