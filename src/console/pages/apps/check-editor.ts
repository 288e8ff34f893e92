/** The editor of a check: a form for each kind, for a new one and for a change. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { CHECK_METHODS } from '../../../contracts/check-results.ts'
import { createCheck, showCheck, updateCheck } from '../../../contracts/checks.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LOG_LEVELS } from '../../../contracts/log-levels.ts'
import { showMaintenanceSettings } from '../../../contracts/maintenance.ts'
import { RULES_MODEL } from '../../../contracts/outcomes.ts'
import { areaField, inputField, selectField } from '../../../pages/parts.ts'
import { tabBar } from '../../components.ts'
import { createRoutes, idOf, sessionOf, type PageContext } from '../../context.ts'
import { redirectWithMessage } from '../../flash.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, readApp, tabParents, tabPath } from './app-tabs.ts'
import { checkPath, KIND_LABELS, type Check, type CheckKind } from './check-labels.ts'

export const checkEditorRoutes = () =>
  createRoutes()
    .get('/apps/:alias/checks/new', (c) => showNew(c))
    .post('/apps/:alias/checks/new', make)
    .get('/apps/:alias/checks/:id/edit', (c) => showEdit(c))
    .post('/apps/:alias/checks/:id/edit', change)

const KINDS = Object.keys(KIND_LABELS) as CheckKind[]

/** A question needs a model to ask; the built-in rules cannot answer one. One that is there can always be edited. */
async function offeredKinds(c: PageContext): Promise<readonly CheckKind[]> {
  const { call, organization } = sessionOf(c)
  const settings = organization && (await call(showMaintenanceSettings, { org_id: organization.id }))
  const canJudge =
    settings?.enabled === true &&
    settings.model !== RULES_MODEL &&
    settings.models.some(({ name }) => name === settings.model)
  return canJudge ? KINDS : KINDS.filter((kind) => kind !== 'judge')
}

export const newCheckPath = (alias: string, kind: CheckKind): string =>
  `${tabPath(alias, 'checks')}/new?kind=${kind}`

/** As they are typed: every field is text until the gateway has read it. */
type Typed = Readonly<Record<string, string>>

const kindOf = (word: string | undefined, kinds: readonly CheckKind[] = KINDS): CheckKind =>
  kinds.find((kind) => kind === word) ?? 'http'

const COMMON: Typed = { name: '', interval_seconds: '60', failure_threshold: '3', success_threshold: '1' }
const NEW: Readonly<Record<CheckKind, Typed>> = {
  http: { url: '', method: 'GET', headers: '', body: '', timeout_ms: '10000', conditions: '[STATUS] < 400' },
  logs: { pattern: '', level: 'error', window_minutes: '10', max_count: '0' },
  judge: { question: '', window_minutes: '60', max_tokens: '5000' },
}

async function showNew(c: PageContext, refused?: { typed: Typed; problem: ServiceError }) {
  const [app, kinds] = await Promise.all([readApp(c), offeredKinds(c)])
  const kind = kindOf(refused?.typed['kind'] ?? c.req.query('kind'), kinds)
  return page(c, {
    title: 'New check',
    parents: tabParents(app, 'checks'),
    status: statusOf(refused?.problem),
    body: html`${tabBar(kinds.map((one) => ({ href: newCheckPath(app.alias, one), label: KIND_LABELS[one], isCurrent: one === kind })))}
      ${editor(c, {
        action: `${tabPath(app.alias, 'checks')}/new`,
        kind,
        typed: refused?.typed ?? { ...COMMON, ...NEW[kind] },
        problem: refused?.problem,
        submit: 'Create check',
        cancel: tabPath(app.alias, 'checks'),
      })}`,
  })
}

async function make(c: PageContext) {
  const typed = typedOf(c)
  const kinds = await offeredKinds(c)
  const input = { alias: aliasOf(c), ...settingsOf(typed, kinds) } as z.input<typeof createCheck.input>
  const result = await attempt(() => sessionOf(c).call(createCheck, input))
  if ('problem' in result) return showNew(c, { typed, problem: byField(result.problem) })
  return redirectWithMessage(
    c,
    checkPath(aliasOf(c), result.done.id),
    result.done.paused === null ? 'Check created. Its first run starts now.' : 'Check created. It is paused.',
  )
}

async function showEdit(c: PageContext, refused?: { typed: Typed; problem: ServiceError }) {
  const path = { alias: aliasOf(c), check_id: idOf(c) }
  const [app, check] = await Promise.all([readApp(c), sessionOf(c).call(showCheck, path)])
  const here = checkPath(app.alias, check.id)
  return page(c, {
    title: 'Edit check',
    parents: [...tabParents(app, 'checks'), { label: check.name, href: here }],
    status: statusOf(refused?.problem),
    body: editor(c, {
      action: `${here}/edit`,
      kind: check.definition.kind,
      typed: refused?.typed ?? typedFrom(check),
      problem: refused?.problem,
      submit: 'Save',
      cancel: here,
    }),
  })
}

async function change(c: PageContext) {
  const typed = typedOf(c)
  const path = { alias: aliasOf(c), check_id: idOf(c) }
  const input = { ...path, ...settingsOf(typed) } as z.input<typeof updateCheck.input>
  const result = await attempt(() => sessionOf(c).call(updateCheck, input))
  if ('problem' in result) return showEdit(c, { typed, problem: byField(result.problem) })
  return redirectWithMessage(c, checkPath(path.alias, path.check_id), 'Check saved.')
}

type Editor = {
  action: string
  kind: CheckKind
  typed: Typed
  problem: ServiceError | undefined
  submit: string
  cancel: string
}

const FIELDS = [
  ...new Set(['name', ...Object.keys(COMMON), ...KINDS.flatMap((kind) => Object.keys(NEW[kind]))]),
]

const editor = (c: PageContext, { action, kind, typed, problem, submit, cancel }: Editor) => {
  const field = (name: string, label: string, rest: Partial<Parameters<typeof inputField>[0]> = {}) =>
    inputField({ name, label, value: typed[name] ?? '', problem, ...rest })
  const count = (name: string, label: string, hint?: string) =>
    field(name, label, { type: 'number', required: true, ...(hint !== undefined && { hint }) })
  const area = (name: string, label: string, rows: number, maxlength: number, hint: string) =>
    areaField({ name, label, value: typed[name] ?? '', rows, maxlength, hint, problem })
  const select = (name: string, label: string, values: readonly string[]) =>
    selectField({
      name,
      label,
      value: typed[name] ?? '',
      options: values.map((value) => ({ value, label: value })),
    })
  const fields = {
    http: () => html`${field('url', 'Address', { required: true, className: 'field-wide', placeholder: 'https://example.com/health', hint: 'Whoever may see the app sees it, but for what follows the question mark. Put secrets into headers.' })}
      ${select('method', 'Method', CHECK_METHODS)} ${count('timeout_ms', 'Time limit (ms)')}
      ${area('conditions', 'Conditions', 4, 6_500, 'One in a line; all of them must hold: [STATUS] == 200, [RESPONSE_TIME] < 300, [BODY].status == UP, len([BODY].items) > 0, has([BODY].error) == false, [BODY] == pat(*ok*)')}
      ${area('headers', 'Headers', 3, 25_000, 'One in a line, as Name: value. Values are secrets and not shown again; [hidden] keeps one.')}
      ${area('body', 'Body', 3, 4_000, 'Of a POST. It is a secret and not shown again; [hidden] keeps it.')}`,
    logs: () => html`${field('pattern', 'Text or /regular expression/', { required: true, className: 'field-wide', maxlength: 500 })}
      ${select('level', 'Level, and more severe ones', LOG_LEVELS)} ${count('window_minutes', 'Window (minutes)')}
      ${count('max_count', 'Lines allowed', 'Fails above this number.')}`,
    judge:
      () => html`${area('question', 'Question', 4, 2_000, 'Answered by the organization’s maintenance model, over what the log says, as far as it fits.')}
      ${count('window_minutes', 'Window (minutes)')} ${count('max_tokens', 'Tokens per run')}`,
  }
  return formCard(c, {
    action,
    problem,
    shown: FIELDS,
    fields: html`<input type="hidden" name="kind" value="${kind}" />
      ${field('name', 'Name', { required: true, maxlength: 120 })} ${fields[kind]()}
      ${count('interval_seconds', 'Interval (seconds)', 'From 30 to 86400.')}
      ${count('failure_threshold', 'Notify after failures', 'Without a pass between them.')}
      ${count('success_threshold', 'Recover after passes', 'In a row.')}`,
    submit,
    cancel,
  })
}

const typedOf = (c: PageContext): Typed =>
  Object.fromEntries(
    ['kind', ...FIELDS].map((name) => [name, text(c.get('form'), name).replaceAll('\r\n', '\n')]),
  )

function typedFrom({ name, definition, ...check }: Check): Typed {
  const fields = Object.entries(definition).map(([field, value]) => [field, textOf(value)] as const)
  return {
    name,
    interval_seconds: String(check.interval_seconds),
    failure_threshold: String(check.failure_threshold),
    success_threshold: String(check.success_threshold),
    ...Object.fromEntries(fields),
  }
}

/** Conditions and headers are lines. */
function textOf(
  value: string | number | readonly string[] | Readonly<Record<string, string>> | undefined,
): string {
  if (typeof value !== 'object') return String(value ?? '')
  if (Array.isArray(value)) return value.join('\n')
  return Object.entries(value)
    .map(([name, held]) => `${name}: ${held}`)
    .join('\n')
}

const linesOf = (typed: string): string[] =>
  typed
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** What is not a number is sent as it was typed: the gateway says so, beside the field. */
const numberOf = (typed: string): number | string =>
  /^-?\d{1,9}$/.test(typed.trim()) ? Number(typed) : typed

/** Not yet what the operation takes: it tells what is wrong with it. */
function settingsOf(typed: Typed, kinds?: readonly CheckKind[]): Record<string, unknown> {
  const kind = kindOf(typed['kind'], kinds)
  const definition = Object.keys(NEW[kind]).map((name) => [name, readField(name, typed[name] ?? '')] as const)
  return {
    name: typed['name'] ?? '',
    definition: { kind, ...Object.fromEntries(definition.filter(([, value]) => value !== undefined)) },
    ...Object.fromEntries(
      ['interval_seconds', 'failure_threshold', 'success_threshold'].map((name) => [
        name,
        numberOf(typed[name] ?? ''),
      ]),
    ),
  }
}

function readField(name: string, typed: string): unknown {
  if (name === 'conditions') return linesOf(typed).length > 0 ? linesOf(typed) : undefined
  if (name === 'headers') return Object.fromEntries(linesOf(typed).map(headerOf))
  if (name === 'body') return typed === '' ? undefined : typed
  return /_(?:ms|minutes|count|tokens)$/.test(name) ? numberOf(typed) : typed
}

function headerOf(line: string): [name: string, value: string] {
  const at = line.indexOf(':')
  return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

/** A problem of `definition.url` belongs beside the field `url`. */
const byField = (problem: ServiceError): ServiceError =>
  new ServiceError(problem.code, problem.message, {
    hint: problem.hint,
    problems: problem.problems?.map((one) => one.replace(/^definition\.(?=\w)/, '')),
  })
