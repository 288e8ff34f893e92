/** The audit trail: who did what, newest first. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { AUDIT_ACTIONS, listAudit, type AuditAction, type AuditEntry } from '../../contracts/audit.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { idPattern } from '../../contracts/ids.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { listMembers } from '../../contracts/members.ts'
import { page } from '../layout.ts'
import { badge, emptyState, filters, pager, table, time } from '../parts.ts'
import { inputField, selectField } from '../../pages/parts.ts'
import { hasRole, organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import { beginOf, endOf, readDay } from './day-filter.ts'

type C = Context<ConsoleEnv>
type Entry = z.output<typeof AuditEntry>

export const auditPages = () => new Hono<ConsoleEnv>().get('/audit', showAudit)

async function showAudit(c: C) {
  const visit = visitOf(c)
  const org_id = organizationOf(c).id
  if (!hasRole(visit, 'admin'))
    throw new ServiceError('FORBIDDEN', 'Only owners and admins read the audit trail')
  const asked = readFilters(c.req.query())
  const [{ audit, next_cursor }, { members }] = await Promise.all([
    visit.call(listAudit, {
      org_id,
      action: asked.action,
      user_id: asked.person,
      from: beginOf(asked.from),
      to: endOf(asked.to),
      cursor: c.req.query('cursor'),
    }),
    visit.call(listMembers, { org_id, limit: PAGE_MAX }),
  ])
  const isKnown = members.some(({ user_id }) => user_id === asked.person)
  return page(c, {
    title: 'Audit trail',
    lead: 'What was done in this organization, and by whom. Nobody can change it.',
    body: html`<div class="card card-list">
      ${filters(
        c,
        'Filter the audit trail',
        html`${selectField({
          name: 'action',
          label: 'What',
          value: asked.action ?? '',
          options: [
            { value: '', label: 'Everything' },
            ...Object.entries(AUDIT_ACTIONS).map(([value, words]) => ({ value, label: words })),
          ],
        })}
        ${selectField({
          name: 'person',
          label: 'Who',
          value: asked.person ?? '',
          options: [
            { value: '', label: 'Everybody' },
            ...(asked.person && !isKnown
              ? [{ value: asked.person, label: 'Somebody who is no member' }]
              : []),
            ...members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` })),
          ],
        })}
        ${inputField({ name: 'from', label: 'From (UTC)', type: 'date', value: asked.from ?? '' })}
        ${inputField({ name: 'to', label: 'To (UTC)', type: 'date', value: asked.to ?? '' })}`,
      )}
      ${
        audit.length === 0
          ? emptyState(
              'Nothing found',
              'Nothing of that kind happened in that time.',
              html`<a href="/console/audit">Show everything</a>`,
            )
          : table('Audit trail, newest first', ['When', 'Who', 'What', 'Request'], audit.map(entryCells))
      }
      ${pager(c, next_cursor)}
    </div>`,
  })
}

/** Filters stand in an address that people edit: what makes no sense is left out, not refused. */
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
  actor: 'agent',
  operator: 'operator',
  system: 'system',
}

function entryCells({ at, actor, action, subject, request_id, support_session_id }: Entry) {
  const kind = KINDS[actor.kind]
  return [
    time(at),
    html`${
      actor.kind === 'user' && actor.id
        ? html`<a class="quiet-link" href="/console/audit?${new URLSearchParams({ person: actor.id }).toString()}">${actor.name}</a>`
        : actor.name
    }
    ${kind && kind !== actor.name && badge(kind, 'off')} ${support_session_id && badge('support visit', 'wait')}`,
    html`${AUDIT_ACTIONS[action]} ${subject && html`<span class="subject">${subject}</span>`}`,
    request_id
      ? html`<code class="note request" title="${request_id}">${request_id.slice(-8)}</code>`
      : html`<span class="note">none</span>`,
  ]
}
