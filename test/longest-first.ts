/**
 * In which order the files of the long tests begin: those that take minutes first and the longest of them foremost, so that none
 * is left alone with an idle core at the end. Then walks, a project after the other: a worker loads the program for many.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { SECONDS } from './long-thirds.ts'

const PROJECTS = ['parallel', 'embedded', 'postgres', 'hosted', 'pgbouncer', 'serial', 'kube']

export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification) =>
      SECONDS[relative(this.ctx.config.root, moduleId)] ?? 0
    const placeOf = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    return Promise.resolve(files.toSorted((a, b) => placeOf(a) - placeOf(b) || secondsOf(b) - secondsOf(a)))
  }
}
