/** A new subscription, with a preview of what its pattern matches. */
import { html } from 'hono/html'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { createSubscription } from '../../../contracts/subscriptions.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { statusOf, text, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'
import { integrationOptions } from '../integrations/integration-labels.ts'
import { previewOf, previewRegion, showPreview, SPECIALS, SUBSCRIPTIONS_PATH } from './subscription-fields.ts'

export const newSubscriptionRoutes = () =>
  createRoutes()
    .get('/subscriptions/new', (c) => showNew(c))
    .post('/subscriptions/new', create)
    .get('/subscriptions/preview', showPreview)

const SUBSCRIBE = formOf(createSubscription, ['pattern', 'integration_id', 'timing'], {
  ...SPECIALS,
  integration_id: { name: 'integration' },
})

async function showNew(c: PageContext, refused?: Refused) {
  organizationOf(c)
  const { integrations } = await sessionOf(c).call(listIntegrations, {})
  const { pattern, integration: integration_id } = c.req.query()
  const form = SUBSCRIBE.show({ now: { pattern, integration_id, timing: 'immediately' }, refused })
  if (integrations.length === 0) return c.redirect(SUBSCRIPTIONS_PATH)
  return page(c, {
    title: 'New subscription',
    lead: 'Enter an event type. The preview shows what it would have matched.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      action: `${SUBSCRIPTIONS_PATH}/new`,
      of: form,
      fields: html`<div class="beside">
          ${form.field('pattern')}
          <button type="submit" name="do" value="preview" class="button button-quiet" formnovalidate>Preview</button>
        </div>
        ${previewRegion('pattern', await previewOf(c, form.value('pattern')))}
        ${form.field('integration_id', { options: integrationOptions(integrations) })} ${form.field('timing')}`,
      submit: 'Subscribe',
      cancel: SUBSCRIPTIONS_PATH,
    }),
  })
}

const create = (c: PageContext) =>
  text(c.get('form'), 'do') === 'preview' ? showNew(c, { form: c.get('form') }) : subscribe(c)

const subscribe = submit(SUBSCRIBE, {
  again: showNew,
  done: ({ pattern, integration, notes }) => [
    SUBSCRIPTIONS_PATH,
    [`${integration.name} is subscribed to ${pattern}.`, ...notes].join(' '),
  ],
})
