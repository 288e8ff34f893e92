/** The editor of a check: a form for each kind, for a new one and for a change. */
import { html } from 'hono/html'
import { CheckDefinition, createCheck, showCheck, updateCheck } from '../../../contracts/checks.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import { showMaintenanceSettings } from '../../../contracts/maintenance.ts'
import { RULES_MODEL } from '../../../contracts/outcomes.ts'
import { tabBar } from '../../components.ts'
import { routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formOf, innerProblem, partOf, refuse, type Refused } from '../../fields.ts'
import { redirectWithMessage } from '../../flash.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, readApp, tabParents, tabPath } from './app-tabs.ts'
import { checkPath, KIND_LABELS, type CheckKind } from './check-labels.ts'

export const checkEditorRoutes = () =>
  createRoutes()
    .get('/apps/:alias/checks/new', (c) => showNew(c))
    .post('/apps/:alias/checks/new', make)
    .get('/apps/:alias/checks/:check_id/edit', (c) => showEdit(c))
    .post('/apps/:alias/checks/:check_id/edit', change)

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

/** `filled`: what somebody has found already, such as the pattern of an error. */
export const newCheckPath = (
  alias: string,
  kind: CheckKind,
  filled: Readonly<Record<string, string | number>> = {},
): string =>
  `${tabPath(alias, 'checks')}/new?${new URLSearchParams({
    kind,
    ...Object.fromEntries(Object.entries(filled).map(([name, value]) => [name, String(value)])),
  })}`

const kindOf = (word: string | undefined, kinds: readonly CheckKind[] = KINDS): CheckKind =>
  kinds.find((kind) => kind === word) ?? 'http'

const [HttpCheck, LogsCheck, JudgeCheck] = CheckDefinition.options
const WIDE = { className: 'field-wide' }

const COMMON = formOf(createCheck, ['name', 'interval_seconds', 'failure_threshold', 'success_threshold'])
const DEFINITIONS = {
  http: partOf(HttpCheck, ['url', 'method', 'timeout_ms', 'conditions', 'headers', 'body'], { url: WIDE }),
  logs: partOf(LogsCheck, ['pattern', 'level', 'window_minutes', 'max_count'], {
    pattern: { ...WIDE, isVerbatim: true },
  }),
  judge: partOf(JudgeCheck, ['question', 'window_minutes', 'max_tokens']),
}
/** Whoever looks for a text mostly looks for an error. */
const NEW = { level: 'error' }

async function showNew(c: PageContext, refused?: Refused) {
  const [app, kinds] = await Promise.all([readApp(c), offeredKinds(c)])
  const kind = kindOf(refused ? text(refused.form, 'kind') : c.req.query('kind'), kinds)
  return page(c, {
    title: 'New check',
    parents: tabParents(app, 'checks'),
    status: statusOf(refused?.problem),
    body: html`${tabBar(kinds.map((one) => ({ href: newCheckPath(app.alias, one), label: KIND_LABELS[one], isCurrent: one === kind })))}
      ${editor(c, kind, {
        action: `${tabPath(app.alias, 'checks')}/new`,
        now: { ...NEW, ...filledIn(c, kind) },
        refused,
        submit: 'Create check',
        cancel: tabPath(app.alias, 'checks'),
      })}`,
  })
}

/** Of the address, for log lines only: nobody is led to send something to an address of somebody else's choice. */
function filledIn(c: PageContext, kind: CheckKind): Record<string, string> {
  if (c.req.method !== 'GET' || kind !== 'logs') return {}
  const fields = [...COMMON.fields, ...DEFINITIONS[kind].fields]
  return Object.fromEntries(
    fields.flatMap(({ key, maxlength }) => {
      const value = c.req.query(key)
      return value === undefined ? [] : [[key, value.slice(0, maxlength ?? FILLED_MAX)]]
    }),
  )
}
const FILLED_MAX = 500

async function make(c: PageContext) {
  const kinds = await offeredKinds(c)
  const result = await attempt(() =>
    sessionOf(c).call(createCheck, { alias: aliasOf(c), ...settingsIn(c, kinds) }),
  )
  if ('problem' in result) return showNew(c, refuseEditor(c, result.problem))
  return redirectWithMessage(
    c,
    checkPath(aliasOf(c), result.done.id),
    result.done.paused === null ? 'Check created. Its first run starts now.' : 'Check created. It is paused.',
  )
}

async function showEdit(c: PageContext, refused?: Refused) {
  const [app, check] = await Promise.all([readApp(c), sessionOf(c).call(showCheck, routeInput(c, showCheck))])
  const here = checkPath(app.alias, check.id)
  return page(c, {
    title: 'Edit check',
    parents: [...tabParents(app, 'checks'), { label: check.name, href: here }],
    status: statusOf(refused?.problem),
    body: editor(c, check.definition.kind, {
      action: `${here}/edit`,
      now: { ...check, ...check.definition },
      refused,
      submit: 'Save',
      cancel: here,
    }),
  })
}

async function change(c: PageContext) {
  const path = routeInput(c, showCheck)
  const result = await attempt(() => sessionOf(c).call(updateCheck, { ...path, ...settingsIn(c) }))
  if ('problem' in result) return showEdit(c, refuseEditor(c, result.problem))
  return redirectWithMessage(c, checkPath(path.alias, path.check_id), 'Check saved.')
}

type Editor = {
  action: string
  now: Readonly<Record<string, unknown>>
  refused: Refused | undefined
  submit: string
  cancel: string
}

function editor(c: PageContext, kind: CheckKind, { now, refused, ...rest }: Editor) {
  const common = COMMON.show({ now, refused })
  const definition = DEFINITIONS[kind].show({ now, refused })
  return formCard(c, {
    ...rest,
    problem: refused?.problem,
    shown: [...common.shown, ...definition.shown],
    fields: html`<input type="hidden" name="kind" value="${kind}" />
      ${common.field('name')} ${definition.all()} ${common.field('interval_seconds')}
      ${common.field('failure_threshold')} ${common.field('success_threshold')}`,
  })
}

function settingsIn(c: PageContext, kinds?: readonly CheckKind[]) {
  const submitted = c.get('form')
  const kind = kindOf(text(submitted, 'kind'), kinds)
  const definition = { kind, ...DEFINITIONS[kind].read(submitted) } as CheckDefinition
  return { ...COMMON.read(submitted), definition }
}

const refuseEditor = (c: PageContext, problem: ServiceError): Refused =>
  refuse(c, innerProblem(problem, /^definition\.(?=\w)/))
