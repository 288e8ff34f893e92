/** Creating a pipeline, and changing one. */
import { createPipeline, showPipeline, updatePipeline } from '../../../contracts/pipelines.ts'
import { CONCURRENCY_POLICIES } from '../../../contracts/pipeline-states.ts'
import { routeInput, submit } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { formOf, type Refused } from '../../fields.ts'
import { formCard, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { aliasOf, readApp, tabParents, tabPath } from './app-tabs.ts'
import { pipelinePath, POLICY_LABELS } from './pipeline-labels.ts'

export const pipelineEditorRoutes = () =>
  createRoutes()
    .get('/apps/:alias/pipelines/new', (c) => showNew(c))
    .post('/apps/:alias/pipelines/new', create)
    .get('/apps/:alias/pipelines/:pipeline_id/edit', (c) => showEdit(c))
    .post('/apps/:alias/pipelines/:pipeline_id/edit', save)

const SETTINGS = ['cron', 'timezone', 'grace_minutes', 'timeout_minutes', 'concurrency', 'enabled'] as const
const SPECIALS = {
  timezone: { required: true },
  concurrency: {
    options: CONCURRENCY_POLICIES.map((value) => ({ value, label: POLICY_LABELS[value].about })),
  },
}
const NEW = formOf(createPipeline, ['name', ...SETTINGS], SPECIALS)
const CHANGE = formOf(updatePipeline, SETTINGS, SPECIALS)

async function showNew(c: PageContext, refused?: Refused) {
  const app = await readApp(c)
  const own = { cron: '0 3 * * *', timezone: sessionOf(c).organization?.timezone ?? 'UTC' }
  return page(c, {
    title: 'New pipeline',
    parents: tabParents(app, 'pipelines'),
    lead: 'Your worker runs it at its time. Subscribed integrations are notified once when it fails or does not start.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      of: NEW.show({ now: own, refused }),
      action: `${tabPath(app.alias, 'pipelines')}/new`,
      cancel: tabPath(app.alias, 'pipelines'),
      submit: 'Create pipeline',
    }),
  })
}

async function showEdit(c: PageContext, refused?: Refused) {
  const [app, pipeline] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showPipeline, routeInput(c, showPipeline)),
  ])
  const path = pipelinePath(app.alias, pipeline.id)
  return page(c, {
    title: `Edit ${pipeline.name}`,
    parents: [...tabParents(app, 'pipelines'), { label: pipeline.name, href: path }],
    status: statusOf(refused?.problem),
    body: formCard(c, {
      of: CHANGE.show({ now: pipeline, refused }),
      action: `${path}/edit`,
      cancel: path,
      submit: 'Save changes',
    }),
  })
}

const create = submit(NEW, {
  again: showNew,
  done: ({ id }, c) => [pipelinePath(aliasOf(c), id), 'Pipeline created.'],
})

const save = submit(CHANGE, {
  again: showEdit,
  done: ({ id }, c) => [pipelinePath(aliasOf(c), id), 'Changes saved.'],
})
