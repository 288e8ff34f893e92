/** Calls as rows of a table: in the activity list, and on the page of the agent that made them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { ActivityEntry } from '../../../contracts/activity.ts'
import { badge, breakable, time } from '../../components.ts'
import { formatBytes, formatDuration, plural } from '../../format.ts'
import { agentPath } from '../agents/agent-labels.ts'
import { principalLabel, shortPrincipalLabel } from '../agents/client-labels.ts'
import { pathOf } from '../data-sources/source-labels.ts'

type Entry = z.output<typeof ActivityEntry>

export const ACTIVITY_PATH = '/console/activity'

const OUTCOME_BADGES = { refused: 'wait', failed: 'bad' } as const

/** Of one agent, questions and functions alike. */
export const CALL_COLUMNS = ['Time', 'Call', 'Outcome', 'Duration', 'Size']

export const callCells = (entry: Entry) => [
  time(entry.at),
  subject(entry),
  outcome(entry),
  duration(entry),
  size(entry),
]

/** Of one data source, by whom it is asked. */
export const USAGE_COLUMNS = ['Time', 'User', 'Through', 'Outcome', 'Duration']

export const usageCells = (entry: Entry) => [
  time(entry.at),
  entry.user.name,
  through(entry),
  outcome(entry),
  duration(entry),
]

export const entryColumns = (type: Entry['type']) => [
  'Time',
  type === 'data_source' ? 'Data source' : 'Function',
  'User',
  'Through',
  'Outcome',
  'Duration',
  'Size',
]

export const entryCells = (entry: Entry) => [
  time(entry.at),
  subject(entry),
  entry.user.name,
  through(entry),
  outcome(entry),
  duration(entry),
  size(entry),
]

function subject({ type, name }: Entry) {
  if (name === null) return html`<span class="note">None</span>`
  const shown = html`<code class="id-text">${breakable(name, '_')}</code>`
  return type === 'data_source' ? html`<a href="${pathOf(name)}">${shown}</a>` : shown
}

/** The agent, or else the entry point: of an agent it is known. */
function through({ grant_id, client_id, client_name, source }: Entry) {
  if (client_id === null) return html`<span class="note">${source}</span>`
  const called = html`<bdi title="${principalLabel(client_id, client_name)}">${shortPrincipalLabel(client_id, client_name)}</bdi>`
  return grant_id === null ? called : html`<a href="${agentPath(grant_id)}">${called}</a>`
}

const outcome = ({ outcome: word, error, hits }: Entry) =>
  html`${word === 'answered' ? word : badge(word, OUTCOME_BADGES[word])}${error !== null && html` <code class="note">${breakable(error, '_')}</code>`}${hits !== null && html` <span class="note">${plural(hits, 'hit')}</span>`}`

const duration = ({ duration_ms }: Entry) => html`<span class="measure">${formatDuration(duration_ms)}</span>`

const size = ({ question_bytes, answer_bytes }: Entry) =>
  html`<span class="measure" title="Request ${formatBytes(question_bytes)}, response ${formatBytes(answer_bytes)}">${formatBytes(question_bytes)} → ${formatBytes(answer_bytes)}</span>`
