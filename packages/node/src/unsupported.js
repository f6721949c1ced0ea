// SPDX-License-Identifier: Apache-2.0
// Names that programs import for Windows, and for certificates of srt's proxies: Buckle has neither.
// They are here so that such a program starts; each throws when it is called.

function refuse(name) {
  return () => {
    throw new Error(`${name}() is not supported: Buckle runs on Linux and macOS, and makes its certificates itself`)
  }
}

/** Why a policy cannot be enforced on Linux. */
export class LinuxSandboxProfileError extends Error {
  constructor(message, code) {
    super(message)
    this.name = 'LinuxSandboxProfileError'
    this.code = code
  }
}

export class WindowsSandboxError extends Error {
  constructor(message, code) {
    super(message)
    this.name = 'WindowsSandboxError'
    this.code = code
  }
}

export const DEFAULT_WINDOWS_PROXY_PORT_RANGE = [60080, 60089]
export const SRT_WIN_DISPATCH_ARG1 = '--srt-win'
export const VENDORED_SRT_WIN_EXE = ''

export const buildGitConfigEnv = refuse('buildGitConfigEnv')
export const certThumbprint = refuse('certThumbprint')
export const checkWindowsDependenciesAsync = refuse('checkWindowsDependenciesAsync')
export const checkWindowsSandboxStatus = refuse('checkWindowsSandboxStatus')
export const checkWindowsSandboxStatusAsync = refuse('checkWindowsSandboxStatusAsync')
export const ensurePersistentWindowsCa = refuse('ensurePersistentWindowsCa')
export const expandWindowsFsPaths = refuse('expandWindowsFsPaths')
export const generateCa = refuse('generateCa')
export const getSrtWinPath = refuse('getSrtWinPath')
export const getWindowsSandboxCaCert = refuse('getWindowsSandboxCaCert')
export const getWindowsSandboxUserStatus = refuse('getWindowsSandboxUserStatus')
export const getWindowsSandboxUserStatusAsync = refuse('getWindowsSandboxUserStatusAsync')
export const getWindowsWfpStatus = refuse('getWindowsWfpStatus')
export const getWindowsWfpStatusAsync = refuse('getWindowsWfpStatusAsync')
export const grantWindowsAcl = refuse('grantWindowsAcl')
export const installWindowsSandbox = refuse('installWindowsSandbox')
export const installWindowsSandboxAsync = refuse('installWindowsSandboxAsync')
export const isUncPath = refuse('isUncPath')
export const parseWindowsBinShell = refuse('parseWindowsBinShell')
export const parseWindowsSandboxError = refuse('parseWindowsSandboxError')
export const resolveSrtWin = refuse('resolveSrtWin')
export const restoreWindowsAcl = refuse('restoreWindowsAcl')
export const revokeWindowsAcl = refuse('revokeWindowsAcl')
export const stampWindowsAcl = refuse('stampWindowsAcl')
export const uninstallWindowsSandbox = refuse('uninstallWindowsSandbox')
export const validateCaPair = refuse('validateCaPair')
export const verifyWindowsWfpEgress = refuse('verifyWindowsWfpEgress')
export const windowsInstallInstructions = refuse('windowsInstallInstructions')
export const windowsStateDir = refuse('windowsStateDir')
export const windowsTrustCa = refuse('windowsTrustCa')
export const windowsTrustCaAsync = refuse('windowsTrustCaAsync')
