/** "Try it": the form that asks a source as oneself, and why it could not be asked. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { queryDataSource, type AskableSource, type FilterType } from '../../contracts/data-sources.ts'
import { ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { HITS_DEFAULT, HITS_MAX, QUESTION_MAX_CHARACTERS } from '../../contracts/limits.ts'
import { areaField, button, card, inputField, problemNotice, selectField } from '../../pages/parts.ts'
import { attempt } from '../attempt.ts'
import { emptyState, form } from '../parts.ts'
import { text, visitOf, type ConsoleEnv } from '../visit.ts'
import { foundHits, type Answer } from './found-hits.ts'
import { pathOf } from './source-words.ts'

type C = Context<ConsoleEnv>
export type Askable = z.output<typeof AskableSource>

/** A question on its way through one page: shown again with its answer or refusal, and kept nowhere. */
export type Tried = {
  readonly query: string
  readonly target: string
  readonly top_k: string
  readonly filters: ReadonlyMap<string, string>
  readonly answer?: Answer
  readonly problem?: ServiceError
}

export const tryCard = (c: C, source: Askable, tried: Tried | undefined) =>
  card(
    'Try it',
    source.targets.length === 0
      ? emptyState('Nothing can be searched yet', 'A developer saves a search configuration first.')
      : html`${problemNotice(tried?.problem, ['query', 'target', 'top_k'])} ${questionForm(c, source, tried)}
        ${tried?.answer && foundHits(tried.answer)}`,
    html`You ask as yourself, and like any question it is recorded under <a href="/console/activity?type=data_source">Activity</a>: that you asked and how long it took, never the words.`,
  )

function questionForm(c: C, { id, targets, filters }: Askable, tried: Tried | undefined) {
  const columns = Object.entries(filters)
  return form(
    c,
    `${pathOf(id)}/ask#answer`,
    html`${areaField({
      name: 'query',
      label: 'Question',
      value: tried?.query ?? '',
      rows: 2,
      required: true,
      maxlength: QUESTION_MAX_CHARACTERS,
      problem: tried?.problem,
    })}
    <div class="question-parts">
      ${selectField({
        name: 'target',
        label: 'Search in',
        value: tried?.target ?? '',
        options: [
          ...(targets.length > 1 ? [{ value: '', label: 'Everything' }] : []),
          ...targets.map((value) => ({ value, label: value })),
        ],
      })}
      ${selectField({
        name: 'top_k',
        label: 'At most',
        value: tried?.top_k ?? String(HITS_DEFAULT),
        options: HIT_CHOICES.map((count) => ({
          value: String(count),
          label: count === 1 ? '1 hit' : `${count} hits`,
        })),
      })}
    </div>
    ${
      columns.length > 0 &&
      html`<fieldset class="question-filters">
        <legend>Only where</legend>
        <div class="question-parts">
          ${columns.map(([column, type], at) => filterField(`filter-${at}`, column, type, tried?.filters.get(column) ?? ''))}
        </div>
      </fieldset>`
    }
    ${button('Ask')}`,
    'stack',
  )
}

const HIT_CHOICES = [1, 3, 5, HITS_DEFAULT, HITS_MAX]

/** The column is anybody's text: it names the field, but not the element. */
function filterField(id: string, column: string, type: FilterType, value: string) {
  const words = { id, name: fieldOf(column), label: column, value }
  switch (type) {
    case 'boolean':
      return selectField({
        ...words,
        options: [
          { value: '', label: 'Either' },
          { value: 'true', label: 'true' },
          { value: 'false', label: 'false' },
        ],
      })
    case 'number':
      return inputField({ ...words, type: 'number', autocomplete: 'off' })
    case 'string':
      return inputField({ ...words, autocomplete: 'off' })
  }
}

const fieldOf = (column: string): string => `filter:${column}`

export async function ask(c: C, source: Askable): Promise<Tried> {
  const fields = c.get('form')
  const asked = {
    query: text(fields, 'query'),
    target: text(fields, 'target'),
    top_k: text(fields, 'top_k'),
    filters: new Map(
      Object.keys(source.filters)
        .map((column) => [column, text(fields, fieldOf(column)).trim()] as const)
        .filter(([, value]) => value !== ''),
    ),
  }
  const started = performance.now()
  const tried = await attempt(() =>
    visitOf(c).call(queryDataSource, {
      source_id: source.id,
      query: asked.query,
      // As they were typed: the gateway reads a text as the type of its column, or says why it cannot.
      filters: Object.fromEntries(asked.filters),
      target: asked.target || undefined,
      top_k: asked.top_k === '' ? undefined : Number(asked.top_k),
    }),
  )
  return 'problem' in tried
    ? { ...asked, problem: withAdvice(tried.problem) }
    : { ...asked, answer: { ...tried.done, ms: Math.round(performance.now() - started) } }
}

const ADVICE: Partial<Record<ErrorCode, { message?: string; hint: string }>> = {
  INVALID_REQUEST: { hint: 'Change what is named here and ask again.' },
  FILTER_NOT_ALLOWED: { hint: 'Use the filters that are offered, each with a value of its type.' },
  FORBIDDEN: { hint: 'Ask an owner or admin of the organization for a higher role.' },
  NOT_FOUND: {
    message: 'This data source cannot be asked now',
    hint: 'It was hidden, switched off or removed a moment ago. Reload the page to see what it is now.',
  },
  NO_SEMANTIC_SEARCH: { hint: 'A developer saves a search configuration first.' },
  INVALID_SEARCH_CONFIGURATION: {
    hint: 'The database has changed since: a developer saves a search configuration that fits it again.',
  },
  RATE_LIMITED: { hint: 'The limit counts everybody in the organization, assistants too.' },
  QUOTA_EXCEEDED: { hint: 'The limit counts everybody in the organization, assistants too.' },
  EMBEDDING_UNAVAILABLE: {
    hint: 'Nothing was searched, so no wrong answer was given. Try again later; if it stays so, tell whoever runs this installation.',
  },
  TIMEOUT: { hint: 'Ask again, with a filter or in one table only.' },
  UNEXPECTED: { hint: 'Try again. If it stays broken, tell whoever runs this installation.' },
}

function withAdvice(error: ServiceError): ServiceError {
  const advice = ADVICE[error.code]
  return new ServiceError(error.code, advice?.message ?? error.message, {
    hint: error.hint ?? advice?.hint,
    problems: error.problems,
    retryAfterSeconds: error.retryAfterSeconds,
  })
}
