/** The audit trail: who did what, newest first. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { AUDIT_ACTIONS, type AuditEntry } from '../../../contracts/audit.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { linkButton } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import { badge, dayFilters, emptyState, memberOptions, time, listCard } from '../../components.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { periodOf, readDay } from '../../day-filter.ts'
import { exportAudit } from './audit-export.ts'
import { AUDIT } from './audit-filters.ts'
import { linkedSubject } from './linked-subject.ts'

type Entry = z.output<typeof AuditEntry>

export const auditRoutes = () =>
  createRoutes()
    .get('/audit', showAudit)
    .get('/audit.csv', exportAudit('csv'))
    .get('/audit.ndjson', exportAudit('ndjson'))

async function showAudit(c: PageContext) {
  requireRole(c, 'admin', 'Only owners and admins can view the audit trail')
  const org_id = organizationOf(c).id
  const query = c.req.query()
  const [{ audit, next_cursor, total, age_seconds }, { members }] = await Promise.all([
    AUDIT.call(c, { org_id, ...periodOf(query) }),
    sessionOf(c).call(listMembers, { org_id, limit: PAGE_MAX }),
  ])
  return page(c, {
    title: 'Audit trail',
    lead: 'Changes in this organization and who made them. Entries cannot be edited.',
    actions: exportLinks(c),
    body: listCard(c, {
      noun: 'audit trail',
      filters: html`${AUDIT.fields(c, { user_id: memberOptions(members) })}
        ${dayFilters({ from: readDay(query['from']), to: readDay(query['to']) })}`,
      caption: 'Audit trail, newest first',
      columns: ['Time', 'Actor', 'Action', 'Request'],
      rows: audit.map(entryRow),
      empty: emptyState(
        'No entries found',
        'Try different filters.',
        html`<a href="/console/audit">Clear filters</a>`,
      ),
      next: next_cursor,
      total,
      age: age_seconds,
    }),
  })
}

/** The export applies the same filters and starts at the first row. */
function exportLinks(c: PageContext) {
  const query = new URL(c.req.url).searchParams
  for (const name of ['cursor', 'cursor_page', 'cursor_back']) query.delete(name)
  const filters = query.size === 0 ? '' : `?${query}`
  return html`${linkButton(`/console/audit.csv${filters}`, 'Export CSV', 'quiet')}
  ${linkButton(`/console/audit.ndjson${filters}`, 'Export NDJSON', 'quiet')}`
}

const KINDS: Record<Entry['actor']['kind'], string | undefined> = {
  user: undefined,
  cli_session: 'client',
  api_token: 'API token',
  // Its name says it.
  app_token: undefined,
  scim_bearer: undefined,
  workload: undefined,
  actor: 'agent',
  operator: 'operator',
  system: 'system',
}

function entryRow({ at, actor, action, subject, request_id, support_session_id }: Entry) {
  const kind = KINDS[actor.kind]
  return [
    time(at),
    html`${
      actor.kind === 'user' && actor.id
        ? html`<a class="quiet-link" href="/console/audit?${new URLSearchParams({ person: actor.id }).toString()}">${actor.name}</a>`
        : actor.name
    }
    ${kind && kind !== actor.name && badge(kind, 'off')} ${support_session_id && badge('support session', 'wait')}`,
    html`${AUDIT_ACTIONS[action]} ${subject && html`<span class="subject">${linkedSubject(subject)}</span>`}`,
    request_id
      ? html`<code class="note request" title="${request_id}">${shortRequest(request_id)}</code>`
      : html`<span class="note">None</span>`,
  ]
}

/** The end of a request's id tells it from others; what no request did has a name. */
const shortRequest = (id: string): string => (id.startsWith('req_') ? id.slice(-8) : id)
