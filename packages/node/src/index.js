// SPDX-License-Identifier: Apache-2.0
export { SandboxManager } from './manager.js'
export { SandboxViolationStore } from './violations.js'
export {
  FilesystemConfigSchema,
  IgnoreViolationsConfigSchema,
  NetworkConfigSchema,
  RipgrepConfigSchema,
  SandboxRuntimeConfigSchema,
  getDefaultWritePaths,
} from './config.js'
export { getWslVersion } from './program.js'
