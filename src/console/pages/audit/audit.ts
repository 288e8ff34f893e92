/** The audit trail: who did what, newest first. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { AUDIT_ACTIONS, listAudit, type AuditAction, type AuditEntry } from '../../../contracts/audit.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listMembers } from '../../../contracts/members.ts'
import { page } from '../../layout.ts'
import {
  badge,
  dayFilters,
  emptyState,
  filterSelect,
  memberOptions,
  time,
  listCard,
} from '../../components.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { beginOf, endOf, readDay } from '../../day-filter.ts'

type Entry = z.output<typeof AuditEntry>

export const auditRoutes = () => createRoutes().get('/audit', showAudit)

async function showAudit(c: PageContext) {
  requireRole(c, 'admin', 'Only owners and admins can view the audit trail')
  const session = sessionOf(c)
  const org_id = organizationOf(c).id
  const filters = readFilters(c.req.query())
  const [{ audit, next_cursor, total }, { members }] = await Promise.all([
    session.call(listAudit, {
      org_id,
      action: filters.action,
      user_id: filters.person,
      from: beginOf(filters.from),
      to: endOf(filters.to),
      cursor: c.req.query('cursor'),
      count: 'true',
    }),
    session.call(listMembers, { org_id, limit: PAGE_MAX }),
  ])
  return page(c, {
    title: 'Audit trail',
    lead: 'Changes in this organization and who made them. Entries cannot be edited.',
    body: listCard(c, {
      label: 'Filter audit trail',
      filters: html`${filterSelect({ name: 'action', label: 'Action', value: filters.action, all: 'All actions', options: Object.entries(AUDIT_ACTIONS).map(([value, label]) => ({ value, label })) })}
        ${filterSelect({ name: 'person', label: 'User', value: filters.person, all: 'All users', options: memberOptions(members), missing: 'Not a member' })}
        ${dayFilters(filters)}`,
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
    }),
  })
}

/** Filters are part of an address that people edit: invalid values are ignored, not refused. */
function readFilters(query: Record<string, string>) {
  const { action, person, from, to } = query
  return {
    action:
      action !== undefined && Object.hasOwn(AUDIT_ACTIONS, action) ? (action as AuditAction) : undefined,
    person: person !== undefined && idPattern('usr').test(person) ? person : undefined,
    from: readDay(from),
    to: readDay(to),
  }
}

const KINDS: Record<Entry['actor']['kind'], string | undefined> = {
  user: undefined,
  api_token: 'API token',
  // Its name says it.
  app_token: undefined,
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
    html`${AUDIT_ACTIONS[action]} ${subject && html`<span class="subject">${subject}</span>`}`,
    request_id
      ? html`<code class="note request" title="${request_id}">${request_id.slice(-8)}</code>`
      : html`<span class="note">None</span>`,
  ]
}
