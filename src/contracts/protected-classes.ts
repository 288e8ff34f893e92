/** Classes of files that no proposal touches unless an owner says so. Plain constants: the client loads this file. */
export const PROTECTED_CLASSES = {
  ci: 'Continuous integration and hooks',
  containers: 'Containers and infrastructure',
  build: 'Build, task and deploy scripts',
  editors: 'Editor tasks',
  agents: 'Instructions for agents',
} as const
export type ProtectedClass = keyof typeof PROTECTED_CLASSES
export const PROTECTED_CLASS_NAMES = Object.keys(PROTECTED_CLASSES) as [ProtectedClass, ...ProtectedClass[]]
