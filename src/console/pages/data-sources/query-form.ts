/** The form that queries a data source with the user's own permissions, and what to do when it fails. */
import { html } from 'hono/html'
import { queryDataSource, type FilterType } from '../../../contracts/data-sources.ts'
import { ServiceError, type ErrorCode } from '../../../contracts/errors.ts'
import { HITS_DEFAULT, HITS_MAX } from '../../../contracts/limits.ts'
import { button, card, inputField, problemNotice, selectField } from '../../../pages/parts.ts'
import { emptyState } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { plural } from '../../format.ts'
import { queryResults, type Answer } from './query-results.ts'
import { pathOf } from './source-labels.ts'
import type { Askable } from './source-tabs.ts'
import { formOf, type Refused } from '../../fields.ts'
import { attempt, form, text } from '../../forms.ts'

/** A question shown again with its results or its problem; it is stored nowhere. */
export type Query = Refused & { readonly answer?: Answer }

const HIT_CHOICES = [1, 3, 5, HITS_DEFAULT, HITS_MAX]
const ASK = formOf(queryDataSource, ['query', 'target', 'top_k'], {
  target: { label: 'Search in' },
  top_k: {
    label: 'Limit',
    options: HIT_CHOICES.map((count) => ({ value: String(count), label: plural(count, 'hit') })),
  },
})

export const queryCard = (c: PageContext, source: Askable, asked: Query | undefined) =>
  card(
    'Ask',
    source.targets.length === 0
      ? emptyState('Search is not configured yet', 'A developer needs to save a search configuration first.')
      : html`${problemNotice(asked?.problem, ['query', 'target', 'top_k'])} ${questionForm(c, source, asked)}
        ${asked?.answer && queryResults(asked.answer)}`,
    html`Queries run with your own permissions and are recorded under <a href="/console/activity?type=data_source">Activity</a>: who asked and how long it took, never the text.`,
  )

function questionForm(c: PageContext, { id, targets, filters }: Askable, asked: Query | undefined) {
  const columns = Object.entries(filters)
  const ask = ASK.show({ refused: asked })
  return form(
    c,
    `${pathOf(id)}/ask#answer`,
    html`${ask.field('query')}
    <div class="question-parts">
      ${ask.field('target', { options: [...(targets.length > 1 ? [{ value: '', label: 'Everything' }] : []), ...targets.map((value) => ({ value, label: value }))] })}
      ${ask.field('top_k')}
    </div>
    ${
      columns.length > 0 &&
      html`<fieldset class="question-filters">
        <legend>Filters</legend>
        <div class="question-parts">
          ${columns.map(([column, type], at) => filterFields(`filter-${at}`, column, type, (name) => (asked ? text(asked.form, name) : '')))}
        </div>
      </fieldset>`
    }
    ${button('Ask')}`,
  )
}

/** A column name is untrusted text: it names the field, but not the element. */
function filterFields(id: string, column: string, type: FilterType, valueOf: (name: string) => string) {
  const field = (name: string, label = column) => ({
    id: `${id}${name[0]}`,
    name,
    label,
    value: valueOf(name),
  })
  switch (type) {
    case 'boolean':
      return selectField({
        ...field(fieldOf(column)),
        options: [
          { value: '', label: 'Any' },
          { value: 'true', label: 'true' },
          { value: 'false', label: 'false' },
        ],
      })
    case 'number':
    case 'date': {
      const kind = { type, autocomplete: 'off' } as const
      return html`${inputField({ ...field(fromOf(column), `${column} from`), ...kind })}
      ${inputField({ ...field(toOf(column), `${column} to`), ...kind })}`
    }
    case 'string':
      return inputField({ ...field(fieldOf(column)), autocomplete: 'off' })
  }
}

const fieldOf = (column: string): string => `filter:${column}`
const fromOf = (column: string): string => `from:${column}`
const toOf = (column: string): string => `to:${column}`

/** As they were typed: the gateway reads a text as the type of its column, or says why it cannot. */
function typedFilter(form: FormData, column: string) {
  const [value, gte, lte] = [fieldOf, fromOf, toOf].map((nameOf) => text(form, nameOf(column)).trim())
  if (value) return value
  return gte || lte ? { ...(gte && { gte }), ...(lte && { lte }) } : undefined
}

export async function runQuery(c: PageContext, source: Askable): Promise<Query> {
  const form = c.get('form')
  const filters = Object.keys(source.filters).flatMap((column) => {
    const filter = typedFilter(form, column)
    return filter === undefined ? [] : [[column, filter] as const]
  })
  const started = performance.now()
  const result = await attempt(() =>
    sessionOf(c).call(queryDataSource, {
      ...ASK.read(form),
      source_id: source.id,
      filters: Object.fromEntries(filters),
    }),
  )
  return 'problem' in result
    ? { form, problem: withAdvice(result.problem) }
    : { form, answer: { ...result.done, ms: Math.round(performance.now() - started) } }
}

const ADVICE: Partial<Record<ErrorCode, { message?: string; hint: string }>> = {
  INVALID_REQUEST: { hint: 'Correct the problems listed here and ask again.' },
  FILTER_NOT_ALLOWED: { hint: 'Use the available filters with values of the right type.' },
  TOO_LARGE: { hint: 'Shorten the question or its filters and ask again.' },
  FORBIDDEN: { hint: 'Ask an owner or admin of the organization for a higher role.' },
  NOT_FOUND: {
    message: 'This data source is not available',
    hint: 'It was hidden, turned off or removed. Reload the page to see its current status.',
  },
  NO_SEMANTIC_SEARCH: { hint: 'A developer needs to save a search configuration first.' },
  INVALID_SEARCH_CONFIGURATION: {
    hint: 'The database has changed. A developer needs to update the search configuration.',
  },
  RATE_LIMITED: { hint: 'The limit applies to the whole organization, including assistants.' },
  QUOTA_EXCEEDED: { hint: 'The limit applies to the whole organization, including assistants.' },
  EMBEDDING_UNAVAILABLE: {
    hint: 'Nothing was searched. Try again later. If the problem persists, contact the operator of this installation.',
  },
  SOURCE_FAILED: {
    hint: 'The database returned an error. Ask its administrator. Other data sources are not affected.',
  },
  TIMEOUT: { hint: 'Try again with a filter or in a single table.' },
  UNEXPECTED: { hint: 'Try again. If the problem persists, contact the operator of this installation.' },
}

export function withAdvice(error: ServiceError): ServiceError {
  const advice = ADVICE[error.code]
  return new ServiceError(error.code, advice?.message ?? error.message, {
    hint: error.hint ?? advice?.hint,
    problems: error.problems,
    retryAfterSeconds: error.retryAfterSeconds,
  })
}
