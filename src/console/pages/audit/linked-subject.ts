/** The subject of an entry of the audit trail, with a link where it names something of an app that has a page. */
import { html } from 'hono/html'
import { idPattern, type IdPrefix } from '../../../contracts/ids.ts'
import { ticketPath } from '../apps/app-labels.ts'
import { deploymentPath } from '../apps/deployment-labels.ts'
import { sourcePath } from '../apps/source-paths.ts'
import { proposalPath, runPath } from '../maintenance/maintenance-labels.ts'

type PathOf = (alias: string, id: string) => string

const PAGES = new Map<string, PathOf>(
  Object.entries({
    tkt: ticketPath,
    pr: proposalPath,
    dep: deploymentPath,
    rev: (alias, revision) => sourcePath(alias, { revision }),
    exec: runPath,
  } satisfies Partial<Record<IdPrefix, PathOf>>),
)

/** An entry keeps the id, because its readers need not be allowed to read the title. The page decides who sees it. */
export function linkedSubject(subject: string) {
  const [, alias, id, rest] = /^([a-z0-9-]+): ([a-z]+_[0-9a-z]+)(.*)$/s.exec(subject) ?? []
  if (alias === undefined || id === undefined) return subject
  const [prefix] = id.split('_') as [IdPrefix]
  const pathOf = PAGES.get(prefix)
  if (!pathOf || !idPattern(prefix).test(id)) return subject
  return html`${alias}: <a href="${pathOf(alias, id)}">${id}</a>${rest}`
}
