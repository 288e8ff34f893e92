/** Proposals in lists: of one app, and of all of them. */
import { html } from 'hono/html'
import { time } from '../../components.ts'
import { plural } from '../../format.ts'
import { appPath } from '../apps/app-labels.ts'
import { visibleText } from '../apps/source-text.ts'
import { effectBadge, proposalBadge, proposalPath, type Proposal } from './maintenance-labels.ts'

export const proposalColumns = (hasApp: boolean): string[] => [
  'Proposal',
  ...(hasApp ? ['App'] : []),
  'State',
  'Changes',
  'Decision or effect',
  'Created',
]

export const proposalRow = (one: Proposal, hasApp: boolean) => [
  html`<a class="subject" href="${proposalPath(one.app, one.id)}">${one.title === null ? `Proposal ${one.id.slice(-6)}` : visibleText(one.title)}</a>`,
  ...(hasApp ? [html`<a href="${appPath(one.app)}">${one.app}</a>`] : []),
  html`${proposalBadge(one.state)}${effectBadge(one)}`,
  html`${plural(one.files_changed, 'file')}, +${one.added_lines} −${one.removed_lines}`,
  html`<span class="note">${one.effect ? one.effect.text : decisionNote(one)}</span>`,
  time(one.created_at),
]

function decisionNote({ decided, decision }: Proposal): string {
  if (decided) return `${decided.approved ? 'Approved' : 'Denied'} by ${decided.by}`
  return decision.eligible ? 'You may approve it' : (decision.reasons.approve[0]?.message ?? '')
}
