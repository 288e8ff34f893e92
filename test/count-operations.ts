/** Fails a whole run of the walks in which an operation was not once answered well by a started system. */
import type { Reporter, TestModule } from 'vitest/node'
import { OPERATIONS } from '../src/contracts/operations.ts'
import './support/answered-operations.ts'

export const countOperations: Reporter = {
  async onTestRunEnd(modules) {
    const walks = modules.filter(({ project }) => project.name === 'postgres')
    if (!(await isWhole(walks))) return
    const missing = unanswered(walks.map((walk) => walk.meta().operations ?? []))
    console.log(
      `${OPERATIONS.length - missing.length} of ${OPERATIONS.length} operations answered in the walks`,
    )
    if (missing.length === 0) return
    console.error(`No walk of npm test has a good answer of: ${missing.join(', ')}`)
    process.exitCode = 1
  },
}

export function unanswered(perWalk: readonly (readonly string[])[]): string[] {
  const answered = new Set(perWalk.flat())
  return OPERATIONS.map(({ name }) => name).filter((name) => !answered.has(name))
}

/** Every file of the project, and no test left out by its name. */
async function isWhole(modules: readonly TestModule[]): Promise<boolean> {
  const project = modules[0]?.project
  if (!project || project.config.testNamePattern) return false
  const { testFiles } = await project.globTestFiles()
  return modules.length === testFiles.length && modules.every((module) => module.state() !== 'queued')
}
