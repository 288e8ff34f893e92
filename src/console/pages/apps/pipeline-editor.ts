/** Creating a pipeline, and changing one. */
import { html } from 'hono/html'
import type { ServiceError } from '../../../contracts/errors.ts'
import { CONCURRENCY_POLICIES } from '../../../contracts/pipeline-states.ts'
import { createPipeline, showPipeline, updatePipeline } from '../../../contracts/pipelines.ts'
import { choice, inputField, selectField } from '../../../pages/parts.ts'
import { createRoutes, idOf, sessionOf, type PageContext } from '../../context.ts'
import { redirectWithMessage } from '../../flash.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, readApp, tabParents, tabPath } from './app-tabs.ts'
import { pipelinePath, POLICY_LABELS } from './pipeline-labels.ts'

export const pipelineEditorRoutes = () =>
  createRoutes()
    .get('/apps/:alias/pipelines/new', (c) => showNew(c))
    .post('/apps/:alias/pipelines/new', create)
    .get('/apps/:alias/pipelines/:id/edit', (c) => showEdit(c))
    .post('/apps/:alias/pipelines/:id/edit', save)

/** As the fields of the form have it. */
type Fields = {
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly grace_minutes: string
  readonly timeout_minutes: string
  readonly concurrency: string
  readonly enabled: boolean
}
type Submitted = { readonly fields: Fields; readonly problem: ServiceError }

const NEW: Fields = {
  name: '',
  cron: '0 3 * * *',
  timezone: 'UTC',
  grace_minutes: '10',
  timeout_minutes: '60',
  concurrency: 'skip',
  enabled: true,
}

async function showNew(c: PageContext, submitted?: Submitted) {
  const app = await readApp(c)
  const own = { ...NEW, timezone: sessionOf(c).organization?.timezone ?? NEW.timezone }
  return page(c, {
    title: 'New pipeline',
    parents: tabParents(app, 'pipelines'),
    lead: 'Your worker runs it at its time. Subscribed integrations are notified once when it fails or does not start.',
    status: statusOf(submitted?.problem),
    body: editor(c, submitted?.fields ?? own, {
      action: `${tabPath(app.alias, 'pipelines')}/new`,
      cancel: tabPath(app.alias, 'pipelines'),
      submit: 'Create pipeline',
      problem: submitted?.problem,
      isNew: true,
    }),
  })
}

async function showEdit(c: PageContext, submitted?: Submitted) {
  const [app, pipeline] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showPipeline, { alias: aliasOf(c), pipeline_id: idOf(c) }),
  ])
  const path = pipelinePath(app.alias, pipeline.id)
  const stored: Fields = {
    name: pipeline.name,
    cron: pipeline.cron ?? '',
    timezone: pipeline.timezone,
    grace_minutes: String(pipeline.grace_minutes),
    timeout_minutes: String(pipeline.timeout_minutes),
    concurrency: pipeline.concurrency,
    enabled: pipeline.enabled,
  }
  return page(c, {
    title: `Edit ${pipeline.name}`,
    parents: [...tabParents(app, 'pipelines'), { label: pipeline.name, href: path }],
    status: statusOf(submitted?.problem),
    body: editor(c, submitted?.fields ?? stored, {
      action: `${path}/edit`,
      cancel: path,
      submit: 'Save changes',
      problem: submitted?.problem,
      isNew: false,
    }),
  })
}

type Editor = {
  readonly action: string
  readonly cancel: string
  readonly submit: string
  readonly problem: ServiceError | undefined
  readonly isNew: boolean
}

const editor = (c: PageContext, fields: Fields, { isNew, problem, ...shown }: Editor) =>
  formCard(c, {
    ...shown,
    problem,
    shown: ['name', 'cron', 'timezone', 'grace_minutes', 'timeout_minutes'],
    fields: html`
      ${isNew && inputField({ name: 'name', label: 'Name', value: fields.name, required: true, maxlength: 60, placeholder: 'nightly-report', hint: 'As your worker calls it: lowercase letters, digits and hyphens. Cannot be changed later.', problem })}
      ${inputField({ name: 'cron', label: 'Schedule', value: fields.cron, maxlength: 100, hint: html`Five parts: minute, hour, day, month, weekday. <code>0 3 * * *</code> is every day at 03:00. Leave empty to run it manually only.`, problem })}
      ${inputField({ name: 'timezone', label: 'Time zone', value: fields.timezone, required: true, maxlength: 60, options: Intl.supportedValuesOf('timeZone'), hint: 'When the clocks change, a daily run still comes once.', problem })}
      ${inputField({ name: 'grace_minutes', label: 'Grace, in minutes', type: 'number', value: fields.grace_minutes, required: true, hint: 'How late a run may start before it counts as missed.', problem })}
      ${inputField({ name: 'timeout_minutes', label: 'Time-out, in minutes', type: 'number', value: fields.timeout_minutes, required: true, hint: 'A run that takes longer has failed.', problem })}
      ${selectField({ name: 'concurrency', label: 'If the previous run is still running', value: fields.concurrency, options: CONCURRENCY_POLICIES.map((value) => ({ value, label: POLICY_LABELS[value].about })) })}
      ${choice('checkbox', 'enabled', 'true', fields.enabled, 'Run by its schedule', 'Off: manual runs only, and nobody is notified.')}`,
  })

function readFields(c: PageContext): Fields {
  const submitted = c.get('form')
  return {
    name: text(submitted, 'name'),
    cron: text(submitted, 'cron'),
    timezone: text(submitted, 'timezone'),
    grace_minutes: text(submitted, 'grace_minutes'),
    timeout_minutes: text(submitted, 'timeout_minutes'),
    concurrency: text(submitted, 'concurrency'),
    enabled: text(submitted, 'enabled') === 'true',
  }
}

const settingsOf = ({ cron, timezone, grace_minutes, timeout_minutes, concurrency, enabled }: Fields) => ({
  cron: cron.trim() === '' ? null : cron,
  timezone: timezone.trim(),
  grace_minutes: Number(grace_minutes),
  timeout_minutes: Number(timeout_minutes),
  concurrency: CONCURRENCY_POLICIES.find((policy) => policy === concurrency) ?? ('skip' as const),
  enabled,
})

async function create(c: PageContext) {
  const [alias, fields] = [aliasOf(c), readFields(c)]
  const result = await attempt(() =>
    sessionOf(c).call(createPipeline, { alias, name: fields.name, ...settingsOf(fields) }),
  )
  if ('problem' in result) return showNew(c, { fields, problem: result.problem })
  return redirectWithMessage(c, pipelinePath(alias, result.done.id), 'Pipeline created.')
}

async function save(c: PageContext) {
  const [alias, fields] = [aliasOf(c), readFields(c)]
  const result = await attempt(() =>
    sessionOf(c).call(updatePipeline, { alias, pipeline_id: idOf(c), ...settingsOf(fields) }),
  )
  if ('problem' in result) return showEdit(c, { fields, problem: result.problem })
  return redirectWithMessage(c, pipelinePath(alias, idOf(c)), 'Changes saved.')
}
