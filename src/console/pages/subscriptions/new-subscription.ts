/** A new subscription, with a preview of what its pattern matches. */
import { html } from 'hono/html'
import type { ServiceError } from '../../../contracts/errors.ts'
import type { Timing } from '../../../contracts/channels.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { createSubscription } from '../../../contracts/subscriptions.ts'
import { selectField } from '../../../pages/parts.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { attempt, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { integrationOptions } from '../integrations/integration-labels.ts'
import {
  patternField,
  previewOf,
  previewRegion,
  showPreview,
  SUBSCRIPTIONS_PATH,
  timingField,
  timingOf,
} from './subscription-fields.ts'

export const newSubscriptionRoutes = () =>
  createRoutes()
    .get('/subscriptions/new', (c) => showNew(c))
    .post('/subscriptions/new', create)
    .get('/subscriptions/preview', showPreview)

type Submitted = { pattern: string; integration: string; timing: Timing }

async function showNew(c: PageContext, submitted?: Submitted, problem?: ServiceError) {
  organizationOf(c)
  const { integrations } = await sessionOf(c).call(listIntegrations, {})
  const now = submitted ?? {
    pattern: c.req.query('pattern') ?? '',
    integration: c.req.query('integration') ?? '',
    timing: 'immediately' as const,
  }
  if (integrations.length === 0) return c.redirect(SUBSCRIPTIONS_PATH)
  return page(c, {
    title: 'New subscription',
    lead: 'Enter an event type. The preview shows what it would have matched.',
    status: statusOf(problem),
    body: formCard(c, {
      action: `${SUBSCRIPTIONS_PATH}/new`,
      problem,
      shown: ['pattern'],
      fields: html`<div class="beside">
          ${patternField({ id: 'pattern', value: now.pattern, problem })}
          <button type="submit" name="do" value="preview" class="button button-quiet" formnovalidate>Preview</button>
        </div>
        ${previewRegion('pattern', await previewOf(c, now.pattern))}
        ${selectField({ name: 'integration', label: 'Destination', value: now.integration, options: integrationOptions(integrations) })}
        ${timingField(now.timing)}`,
      submit: 'Subscribe',
      cancel: SUBSCRIPTIONS_PATH,
    }),
  })
}

async function create(c: PageContext) {
  const fields = c.get('form')
  const submitted: Submitted = {
    pattern: text(fields, 'pattern'),
    integration: text(fields, 'integration'),
    timing: timingOf(fields),
  }
  if (text(fields, 'do') === 'preview') return showNew(c, submitted)
  const result = await attempt(() =>
    sessionOf(c).call(createSubscription, {
      pattern: submitted.pattern,
      integration_id: submitted.integration,
      timing: submitted.timing,
    }),
  )
  if ('problem' in result) return showNew(c, submitted, result.problem)
  const { pattern, integration, notes } = result.done
  return redirectWithMessage(
    c,
    SUBSCRIPTIONS_PATH,
    [`${integration.name} is subscribed to ${pattern}.`, ...notes].join(' '),
  )
}
