/** `svc notifications …`: one's own inbox and follows, and as admin what the organization is told and how it arrived. */
import type * as z from 'zod'
import { confirm, readInput, readSecret } from '../ask-person.ts'
import type { Call, Run } from '../command.ts'
import { argument, isSet, listOption, textOption, timeOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import type { Operations } from '../requests.ts'
import { usage } from '../usage.ts'
import type { World } from '../world.ts'

type Input<Name extends keyof Operations> = z.input<Operations[Name]['input']>
type Output<Name extends keyof Operations> = z.output<Operations[Name]['output']>

export const listInbox: Run = async (world, call) => {
  const filters = {
    // Checked against its choices when the command line is read.
    state: textOption(call, 'state') as Input<'inbox.list'>['state'],
    type: textOption(call, 'type'),
    since: timeOption(call, 'since'),
  }
  const found = await readPages(world, call, 'notifications', (page) =>
    world.ask('inbox.list', { ...filters, ...page }),
  )
  world.print(found, {
    columns: ['ID', 'AT', 'TYPE', 'SUMMARY', 'READ', 'URL'],
    rows: found.notifications.map((one) => [
      one.id,
      one.timestamp,
      one.type,
      one.summary,
      yesOrNo(one.read),
      one.url,
    ]),
  })
}

export const acknowledge: Run = async (world, call) => {
  const read = await world.ask('inbox.acknowledge', { notification_id: argument(call, 'id') })
  world.print(read, { fields: { id: read.id, read_at: read.read_at } })
}

export const listFollows: Run = async (world, call) => {
  const following = isSet(call, 'following') ? 'true' : undefined
  const found = await readPages(world, call, 'follows', (page) =>
    world.ask('follows.list', { ...page, following }),
  )
  world.print(found, followTable(found.follows))
}

export const follow: Run = async (world, call) => {
  const categories = listOption(call, 'category') as Input<'follows.set'>['categories']
  const stop = isSet(call, 'stop')
  if (stop && categories.length > 0) throw usage('--stop contradicts --category', 'Leave one of them out')
  if (!stop && categories.length === 0) {
    throw usage('Nothing says what to follow', 'Add --category for everything you want to hear of, or --stop')
  }
  const chosen = await world.ask('follows.set', {
    alias: argument(call, 'app'),
    categories,
    frequency: textOption(call, 'frequency') as Input<'follows.set'>['frequency'],
  })
  world.print(chosen, followTable([chosen]))
}

const followTable = (follows: readonly Output<'follows.set'>[]) => ({
  columns: ['APP', 'NAME', 'CATEGORIES', 'FREQUENCY', 'LAST', 'REASON', 'AT'],
  rows: follows.map(({ app, name, categories, frequency, last }) => [
    app,
    name,
    categories.join(', '),
    categories.length === 0 ? null : frequency,
    last?.outcome,
    last?.reason,
    last?.at,
  ]),
})

export const listSubscriptions: Run = async (world, call) => {
  const filters = {
    pattern: textOption(call, 'pattern'),
    integration_id: textOption(call, 'connection'),
  }
  const found = await readPages(world, call, 'subscriptions', (page) =>
    world.ask('subscriptions.list', { ...filters, ...page }),
  )
  world.print(found, subscriptionTable(found.subscriptions))
}

export const subscribe: Run = async (world, call) => {
  const made = await world.ask('subscriptions.create', {
    integration_id: argument(call, 'connection_id'),
    pattern: argument(call, 'pattern'),
    timing: textOption(call, 'timing') as Input<'subscriptions.create'>['timing'],
  })
  world.print(made, subscriptionTable([made]))
  for (const note of made.notes) world.say(note)
}

export const pause: Run = (world, call) => switchSubscription(world, call, false)
export const resume: Run = (world, call) => switchSubscription(world, call, true)

async function switchSubscription(world: World, call: Call, enabled: boolean): Promise<void> {
  const subscription_id = argument(call, 'subscription_id')
  const changed = await world.ask('subscriptions.update', { subscription_id, enabled })
  world.print(changed, subscriptionTable([changed]))
}

export const unsubscribe: Run = async (world, call) => {
  const id = argument(call, 'subscription_id')
  await confirm(world, call, `The subscription ${id} goes; a default never comes back.`)
  await world.ask('subscriptions.delete', { subscription_id: id })
  world.say(`Removed ${id}`)
}

export const sendTest: Run = async (world, call) => {
  const sent = await world.ask('subscriptions.test', { subscription_id: argument(call, 'subscription_id') })
  world.print(sent, { fields: { event: sent.event_id } })
  world.say(`See how it fares: svc notifications deliveries --event ${sent.event_id}`)
}

const subscriptionTable = (
  rows: readonly Pick<
    Output<'subscriptions.update'>,
    'id' | 'pattern' | 'timing' | 'enabled' | 'disabled_reason' | 'integration' | 'last_delivery_at'
  >[],
) => ({
  columns: ['ID', 'PATTERN', 'CONNECTION', 'TIMING', 'ON', 'REASON', 'LAST DELIVERY'],
  rows: rows.map((row) => [
    row.id,
    row.pattern,
    row.integration.name,
    row.timing,
    yesOrNo(row.enabled),
    row.disabled_reason,
    row.last_delivery_at,
  ]),
})

export const preview: Run = async (world, call) => {
  const found = await world.ask('subscriptions.preview', { pattern: argument(call, 'pattern') })
  world.print(found, {
    columns: ['TYPE', 'IN 7 DAYS', 'WHEN'],
    rows: found.types.map(({ type, events, when }) => [type, events, when]),
  })
  if (!found.is_known) world.say('No event of this type is defined')
}

export const listDeliveries: Run = async (world, call) => {
  type Filters = Input<'deliveries.list'>
  const filters = {
    type: textOption(call, 'type'),
    state: textOption(call, 'state') as Filters['state'],
    channel: textOption(call, 'channel') as Filters['channel'],
    app: textOption(call, 'app'),
    integration_id: textOption(call, 'connection'),
    event_id: textOption(call, 'event'),
    from: timeOption(call, 'from'),
    to: timeOption(call, 'to'),
  }
  const found = await readPages(world, call, 'deliveries', (page) =>
    world.ask('deliveries.list', { ...filters, ...page }),
  )
  world.print(found, {
    columns: ['ID', 'AT', 'TYPE', 'APP', 'CHANNEL', 'TO', 'STATE', 'REASON', 'TRIES', 'MS'],
    rows: found.deliveries.map((one) => [
      one.id,
      one.created_at,
      one.type,
      one.app,
      one.channel,
      one.destination,
      one.state,
      one.reason,
      one.attempts,
      one.duration_ms,
    ]),
  })
}

export const showDelivery: Run = async (world, call) => {
  const found = await world.ask('deliveries.show', { delivery_id: argument(call, 'delivery_id') })
  const { id, type, subject, app, channel, destination, state, reason, replay_of, next_attempt_at } = found
  world.print(found, {
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
        found.attempts_made.map((attempt) => [`attempt ${attempt.number}`, told(attempt)]),
      ),
    },
  })
}

const told = (attempt: Output<'deliveries.show'>['attempts_made'][number]): string =>
  [
    attempt.started_at,
    attempt.outcome ?? 'no answer yet',
    attempt.reason,
    attempt.http_status,
    attempt.duration_ms !== null && `${attempt.duration_ms} ms`,
  ]
    .filter((part) => part !== null && part !== false)
    .join(' ')

export const replay: Run = async (world, call) => {
  const id = argument(call, 'delivery_id')
  await confirm(world, call, `${id} is sent again and may arrive a second time.`)
  const again = await world.ask('deliveries.replay', { delivery_id: id })
  world.print(again, { fields: { id: again.id, replay_of: again.replay_of } })
}

export const listConnections: Run = async (world) => {
  const found = await world.ask('integrations.list', {})
  world.print(found, connectionTable(found.integrations))
}

export const connect: Run = async (world, call) => {
  const asked = { name: argument(call, 'name'), url: await addressOf(world, call) }
  const made = isSet(call, 'chat')
    ? await world.ask('integrations.connectChat', asked)
    : await world.ask('integrations.connectWebhook', asked)
  world.print(made, connectionTable([made]))
}

async function addressOf(world: World, call: Call): Promise<string> {
  const given = textOption(call, 'url')
  if (given === '-') return readInput(world, '--url')
  if (given !== undefined) return given
  if (world.settings.interactive) return readSecret(world, 'Address (not shown): ')
  throw usage(
    'svc notifications connect needs --url',
    'The address is a secret. Pipe it in, so that no list of processes shows it: --url - < file',
  )
}

export const disconnect: Run = async (world, call) => {
  const id = argument(call, 'connection_id')
  await confirm(world, call, `The connection ${id} goes with its subscriptions.`)
  await world.ask('integrations.remove', { integration_id: id })
  world.say(`Removed ${id}`)
}

const connectionTable = (rows: readonly Output<'integrations.connectWebhook'>[]) => ({
  columns: ['ID', 'KIND', 'NAME', 'STATE', 'ADDRESS', 'SUBSCRIPTIONS', 'LAST SUCCESS'],
  rows: rows.map((row) => [
    row.id,
    row.kind,
    row.name,
    row.state,
    row.address,
    row.subscriptions,
    row.last_success_at,
  ]),
})

const yesOrNo = (value: boolean): string => (value ? 'yes' : 'no')
