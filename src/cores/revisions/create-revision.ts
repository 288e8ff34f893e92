import { ServiceError } from '../../contracts/errors.ts'
import { collisionsIn, problemWithPath, shownPath } from '../../contracts/source-paths.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { saveRevision } from './save-revision.ts'
import type { SourceLimits } from './storage.ts'

/** Of the list of problems; the rest is counted. */
const PROBLEMS_MAX = 100

export const createRevision: Verb<'createRevision', WithDirectory & SourceLimits> = write(
  { by: 'principal', audit: 'revision.pushed' },
  async (context, { alias, files, ...from }) => {
    const { tx, principal, directory } = context
    const app = await requireAppWriter(directory, tx, principal, alias)
    refuseProblems(files.map(({ path }) => path))
    const named = files.map(({ path, sha256, executable }) => ({ path, sha256, isExecutable: executable }))
    return saveRevision(tx, context, principal, app, { files: named, from })
  },
)

function refuseProblems(paths: readonly string[]): void {
  const wrong = paths.flatMap((path) => {
    const problem = problemWithPath(path)
    return problem === undefined ? [] : [`${shownPath(path)}: ${problem}`]
  })
  const problems = wrong.length > 0 ? wrong : collisionsIn(paths)
  if (problems.length === 0) return
  const more = problems.length - PROBLEMS_MAX
  throw new ServiceError('INVALID_REQUEST', 'These files cannot lie in one tree', {
    problems: more > 0 ? [...problems.slice(0, PROBLEMS_MAX), `and ${more} more`] : problems,
  })
}
