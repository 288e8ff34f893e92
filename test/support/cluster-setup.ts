/** Before the tests of a cluster: a folder with its programs, or what is missing. */
import type { TestProject } from 'vitest/node'
import { findClusterFolder } from './cluster-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    clusterFolder: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { folder, remove } = await findClusterFolder()
  project.provide('clusterFolder', folder)
  return remove
}
