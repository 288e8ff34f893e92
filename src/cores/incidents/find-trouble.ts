/** What an incident is about: an error of the log, a finding, a check. From one of them the others are found. */
import type { Handle } from '../../../db/connect.ts'
import { notFound } from '../../contracts/errors.ts'
import { LOG_LEVELS } from '../../contracts/log-levels.ts'
import { looksFor, patternFor, readChecks, type Check } from '../checks/index.ts'
import {
  checkOfFinding,
  findFinding,
  findFindingByTemplate,
  findFindingOfCheck,
  type Finding,
} from '../findings/index.ts'
import {
  errorOfGroup,
  findErrorByTemplate,
  findLoggedError,
  findTemplate,
  type readError,
  readTemplates,
  type LoggedError,
} from '../logs/index.ts'

type App = { readonly orgId: string; readonly id: string }
type Seen = {
  /** Otherwise no error of a log is known, nor looked for. */
  readonly readsLog: boolean
  readonly seesFindings: boolean
}
export type Trouble = {
  readonly error: LoggedError | null
  readonly finding: Finding | undefined
  readonly check: Check | undefined
}
export type ErrorLines = NonNullable<Awaited<ReturnType<typeof readError>>>

export async function findTrouble(db: Handle, app: App, id: string, seen: Seen): Promise<Trouble> {
  if (id.startsWith('lgr_')) return ofGroup(db, app, id, seen)
  if (id.startsWith('fnd_')) return ofFinding(db, app, id, seen)
  return ofCheck(db, app, id, seen)
}

async function ofGroup(db: Handle, app: App, id: string, seen: Seen): Promise<Trouble> {
  const error = seen.readsLog ? errorOfGroup(id) : null
  if (error === null) throw notFound()
  const template = seen.seesFindings ? await findTemplate(db, app, error) : undefined
  const finding = template === undefined ? undefined : await findFindingByTemplate(db, app, template)
  return { error, finding, check: undefined }
}

async function ofFinding(db: Handle, app: App, id: string, seen: Seen): Promise<Trouble> {
  const finding = seen.seesFindings ? await findFinding(db, app, id) : undefined
  if (!finding) throw notFound()
  const checkId = checkOfFinding(finding)
  return {
    error: seen.readsLog ? await errorOfFinding(db, app, finding) : null,
    finding,
    check: checkId === null ? undefined : (await readChecks(db, app)).find((one) => one.id === checkId),
  }
}

/** The line that it cites says more than the template: of a trace of Python which exception. */
const errorOfFinding = async (
  db: Handle,
  app: App,
  { evidence, matter }: Finding,
): Promise<LoggedError | null> =>
  (await findLoggedError(db, app, evidence)) ??
  (matter.logTemplate === null ? null : findErrorByTemplate(db, app, matter.logTemplate))

async function ofCheck(db: Handle, app: App, id: string, seen: Seen): Promise<Trouble> {
  const check = (await readChecks(db, app)).find((one) => one.id === id)
  if (!check) throw notFound()
  const own = seen.seesFindings ? await findFindingOfCheck(db, app, id) : undefined
  if (own) return { error: seen.readsLog ? await errorOfFinding(db, app, own) : null, finding: own, check }
  const group = seen.readsLog ? await groupOf(db, app, check) : undefined
  if (!group) return { error: null, finding: undefined, check }
  return {
    error: { group: String(group.key), exception: null },
    finding: seen.seesFindings ? await findFindingByTemplate(db, app, group.template) : undefined,
    check,
  }
}

/** The most severe group that a check of log lines counts. */
async function groupOf(db: Handle, app: App, { definition }: Check) {
  if (definition.kind !== 'logs') return undefined
  const { pattern, level } = definition
  return (await readTemplates(db, app)).find(
    (group) =>
      group.level >= LOG_LEVELS.indexOf(level) &&
      (looksFor(pattern, group.template, group.template) || pattern === patternFor(group.template, '')),
  )
}

/** The check that it is about, and those that would count one of its lines. */
export async function checksFor(
  db: Handle,
  app: App,
  { check, finding }: Trouble,
  log: ErrorLines | null,
): Promise<Check[]> {
  const about = check?.id ?? (finding && checkOfFinding(finding))
  const [newest] = log?.lines ?? []
  return (await readChecks(db, app)).filter(({ id, definition }) => {
    if (id === about) return true
    if (definition.kind !== 'logs' || !log || !newest) return false
    const isSevere = LOG_LEVELS.indexOf(log.level) >= LOG_LEVELS.indexOf(definition.level)
    return isSevere && looksFor(definition.pattern, log.template, newest.text)
  })
}
