/** `svc notifications …`: inbox and follows of the user; integrations, subscriptions and deliveries for admins. */
import type { Input, Output } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, isSet, listOption, textOption, timeOption } from '../options.ts'
import { confirm, secretOption } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

export const listNotifications: Run = async (ctx, input) => {
  const filters = {
    // The parser has checked it against its choices.
    state: textOption(input, 'state') as Input<'listNotifications'>['state'],
    type: textOption(input, 'type'),
    since: timeOption(input, 'since'),
  }
  const found = await readPages(ctx, input, 'listNotifications', 'notifications', filters)
  const columns = {
    ID: 'id',
    TIME: 'timestamp',
    TYPE: 'type',
    SUMMARY: 'summary',
    READ: 'read',
    URL: 'url',
  } as const
  ctx.print(found, tableOf(found.notifications, columns))
}

export const acknowledgeNotification: Run = async (ctx, input) => {
  const read = await ctx.callOperation('acknowledgeNotification', { notification_id: argument(input, 'id') })
  ctx.print(read, { fields: { id: read.id, read_at: read.read_at } })
}

export const listFollows: Run = async (ctx, input) => {
  const following = isSet(input, 'following') ? 'true' : undefined
  const found = await readPages(ctx, input, 'listFollows', 'follows', { following })
  ctx.print(found, followTable(found.follows))
}

export const follow: Run = async (ctx, input) => {
  const categories = listOption(input, 'category') as Input<'setFollow'>['categories']
  const stop = isSet(input, 'stop')
  if (stop && categories.length > 0)
    throw usageError('--stop conflicts with --category', 'Remove one of them')
  if (!stop && categories.length === 0) {
    throw usageError('Nothing to follow', 'Add --category for everything you want to follow, or --stop')
  }
  const chosen = await ctx.callOperation('setFollow', {
    alias: argument(input, 'app'),
    categories,
    frequency: textOption(input, 'frequency') as Input<'setFollow'>['frequency'],
  })
  ctx.print(chosen, followTable([chosen]))
}

const followTable = (follows: readonly Output<'setFollow'>[]) =>
  tableOf(follows, {
    APP: 'app',
    NAME: 'name',
    CATEGORIES: ({ categories }) => categories.join(', '),
    FREQUENCY: ({ categories, frequency }) => (categories.length === 0 ? null : frequency),
    'LAST DELIVERY': ({ last }) => last?.outcome,
    REASON: ({ last }) => last?.reason,
    TIME: ({ last }) => last?.at,
  })

export const listSubscriptions: Run = async (ctx, input) => {
  const filters = {
    pattern: textOption(input, 'pattern'),
    integration_id: textOption(input, 'integration'),
  }
  const found = await readPages(ctx, input, 'listSubscriptions', 'subscriptions', filters)
  ctx.print(found, subscriptionTable(found.subscriptions))
}

export const subscribe: Run = async (ctx, input) => {
  const created = await ctx.callOperation('createSubscription', {
    integration_id: argument(input, 'integration_id'),
    pattern: argument(input, 'pattern'),
    timing: textOption(input, 'timing') as Input<'createSubscription'>['timing'],
  })
  ctx.print(created, subscriptionTable([created]))
  for (const note of created.notes) ctx.info(note)
}

const setEnabled =
  (enabled: boolean): Run =>
  async (ctx, input) => {
    const subscription_id = argument(input, 'subscription_id')
    const changed = await ctx.callOperation('updateSubscription', { subscription_id, enabled })
    ctx.print(changed, subscriptionTable([changed]))
  }
export const pause = setEnabled(false)
export const resume = setEnabled(true)

export const deleteSubscription: Run = async (ctx, input) => {
  const id = argument(input, 'subscription_id')
  await confirm(ctx, input, `This deletes subscription ${id}. A default subscription is not created again.`)
  await ctx.callOperation('deleteSubscription', { subscription_id: id })
  ctx.info(`Deleted ${id}`)
}

export const sendTest: Run = async (ctx, input) => {
  const sent = await ctx.callOperation('testSubscription', {
    subscription_id: argument(input, 'subscription_id'),
  })
  ctx.print(sent, { fields: { event: sent.event_id } })
  ctx.info(`Check the delivery with: svc notifications deliveries --event ${sent.event_id}`)
}

const subscriptionTable = (
  rows: readonly Pick<
    Output<'updateSubscription'>,
    'id' | 'pattern' | 'timing' | 'enabled' | 'disabled_reason' | 'integration' | 'last_delivery_at'
  >[],
) =>
  tableOf(rows, {
    ID: 'id',
    PATTERN: 'pattern',
    INTEGRATION: ({ integration }) => integration.name,
    TIMING: 'timing',
    ENABLED: 'enabled',
    REASON: 'disabled_reason',
    'LAST DELIVERY': 'last_delivery_at',
  })

export const preview: Run = async (ctx, input) => {
  const found = await ctx.callOperation('previewEventPattern', { pattern: argument(input, 'pattern') })
  ctx.print(found, tableOf(found.types, { TYPE: 'type', 'LAST 7 DAYS': 'events', WHEN: 'when' }))
  if (!found.is_known) ctx.info('No such event type is defined')
}

export const listDeliveries: Run = async (ctx, input) => {
  type Filters = Input<'listDeliveries'>
  const filters = {
    type: textOption(input, 'type'),
    state: textOption(input, 'state') as Filters['state'],
    channel: textOption(input, 'channel') as Filters['channel'],
    app: textOption(input, 'app'),
    integration_id: textOption(input, 'integration'),
    event_id: textOption(input, 'event'),
    from: timeOption(input, 'from'),
    to: timeOption(input, 'to'),
  }
  const found = await readPages(ctx, input, 'listDeliveries', 'deliveries', filters)
  const view = tableOf(found.deliveries, {
    ID: 'id',
    TIME: 'created_at',
    TYPE: 'type',
    APP: 'app',
    CHANNEL: 'channel',
    TO: 'destination',
    STATE: 'state',
    REASON: 'reason',
    ATTEMPTS: 'attempts',
    MS: 'duration_ms',
  })
  ctx.print(found, view)
}

export const showDelivery: Run = async (ctx, input) => {
  const found = await ctx.callOperation('showDelivery', { delivery_id: argument(input, 'delivery_id') })
  const { id, type, subject, app, channel, destination, state, reason, replay_of, next_attempt_at } = found
  ctx.print(found, {
    fields: {
      id,
      type,
      subject,
      app,
      channel,
      to: destination,
      state,
      reason,
      replay_of,
      next_attempt_at,
      ...Object.fromEntries(
        found.attempts_made.map((attempt) => [`attempt ${attempt.number}`, formatAttempt(attempt)]),
      ),
    },
  })
}

/** On one line; `--json` has all that is kept. */
const RESPONSE_SHOWN = 80

const formatAttempt = (attempt: Output<'showDelivery'>['attempts_made'][number]): string =>
  [
    attempt.started_at,
    attempt.outcome ?? 'no response yet',
    attempt.reason,
    attempt.http_status,
    attempt.duration_ms !== null && `${attempt.duration_ms} ms`,
    attempt.response !== null && JSON.stringify(attempt.response.slice(0, RESPONSE_SHOWN)),
  ]
    .filter((part) => part !== null && part !== false)
    .join(' ')

export const retry: Run = async (ctx, input) => {
  const retried = await ctx.callOperation('retryDelivery', { delivery_id: argument(input, 'delivery_id') })
  ctx.print(retried, { fields: { id: retried.id, next_attempt_at: retried.next_attempt_at } })
}

export const recover: Run = async (ctx, input) => {
  const integration_id = argument(input, 'integration_id')
  const since = timeOption(input, 'since')
  if (since === undefined)
    throw usageError('Missing option --since', `Add --since, such as --since 2026-11-15`)
  const include_unconfirmed = !isSet(input, 'skip-unconfirmed')
  const warning = include_unconfirmed ? '; what is unconfirmed may arrive twice' : ''
  await confirm(ctx, input, `This sends again what ${integration_id} missed since ${since}${warning}.`)
  const started = await ctx.callOperation('recoverDeliveries', { integration_id, since, include_unconfirmed })
  ctx.print(started, { fields: { id: started.id, state: started.state, since: started.since } })
  ctx.info(`Follow the deliveries with: svc notifications deliveries --integration ${integration_id}`)
}

export const replay: Run = async (ctx, input) => {
  const id = argument(input, 'delivery_id')
  await confirm(ctx, input, `This sends ${id} again; it may arrive twice.`)
  const again = await ctx.callOperation('replayDelivery', { delivery_id: id })
  ctx.print(again, { fields: { id: again.id, replay_of: again.replay_of } })
}

export const listIntegrations: Run = async (ctx) => {
  const found = await ctx.callOperation('listIntegrations', {})
  ctx.print(found, integrationTable(found.integrations))
}

export const connect: Run = async (ctx, input) => {
  const name = argument(input, 'name')
  const address = textOption(input, 'email')
  if (address !== undefined) {
    const email = await ctx.callOperation('connectEmail', { name, address })
    ctx.print(email, integrationTable([email]))
    return ctx.info('A link was sent to the address. Nothing else is before it is confirmed.')
  }
  const url = await secretOption(ctx, input, 'url', 'Webhook URL')
  const integration = { name, url }
  const created = isSet(input, 'chat')
    ? await ctx.callOperation('connectChatWebhook', integration)
    : await ctx.callOperation('connectWebhook', integration)
  ctx.print(created, integrationTable([created]))
}

export const disconnect: Run = async (ctx, input) => {
  const id = argument(input, 'integration_id')
  await confirm(ctx, input, `This removes integration ${id} and its subscriptions.`)
  await ctx.callOperation('removeIntegration', { integration_id: id })
  ctx.info(`Removed ${id}`)
}

const integrationTable = (rows: readonly Output<'connectWebhook'>[]) =>
  tableOf(rows, {
    ID: 'id',
    KIND: 'kind',
    NAME: 'name',
    STATE: 'state',
    ADDRESS: 'address',
    SUBSCRIPTIONS: 'subscriptions',
    'LAST SUCCESS': 'last_success_at',
  })
