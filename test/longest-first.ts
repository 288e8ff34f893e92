/** The order of the long tests: in each group those first that take longest, so that no worker is left with one of them in the end. */
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { SECONDS } from './long-thirds.ts'

const ROOT = join(import.meta.dirname, '..')

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => SECONDS[relative(ROOT, moduleId)] ?? 0
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder
    // Of equal ones the order stays: walks of a project one after the other, because their workers are used again.
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the sequencer's own
    return (await super.sort(files)).toSorted((a, b) => group(a) - group(b) || seconds(b) - seconds(a))
  }
}
