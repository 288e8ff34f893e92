/** Proposals in lists: of one app, and of all of them. */
import { html } from 'hono/html'
import { icon } from '../../../pages/icons.ts'
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
  '(You may approve it)',
  'Created',
]

export const proposalRow = (one: Proposal, hasApp: boolean) => [
  html`<a class="subject" href="${proposalPath(one.app, one.id)}">${one.title === null ? `Proposal ${one.id.slice(-6)}` : visibleText(one.title)}</a>`,
  ...(hasApp ? [html`<a href="${appPath(one.app)}">${one.app}</a>`] : []),
  html`${proposalBadge(one.state)}${effectBadge(one)} ${outcomeNote(one)}`,
  html`${plural(one.files_changed, 'file')}, +${one.added_lines} −${one.removed_lines}`,
  approvalMark(one),
  time(one.created_at),
]

const outcomeNote = ({ effect, decided }: Proposal) => {
  const text = effect?.text ?? (decided && `${decided.approved ? 'Approved' : 'Denied'} by ${decided.by}`)
  return text && html`<span class="note">${text}</span>`
}

/** A sign for those who see, the words for those who hear or ask. */
function approvalMark({ decided, decision }: Proposal) {
  if (decided) return null
  const words = decision.eligible ? 'You may approve it' : decision.reasons.approve[0]?.message
  if (words === undefined) return null
  return html`<span class="approval ${decision.eligible && 'approval-open'}" title="${words}">${icon(decision.eligible ? 'check' : 'close')}<span class="approval-words">${words}</span></span>`
}
