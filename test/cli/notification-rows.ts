/** Rows about apps and notifications for the table of every command and every exit code. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Call } from '../../src/client/http-client.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import { createSubscription, setFollow, testSubscription } from '../../src/contracts/subscriptions.ts'
import { createTicket } from '../../src/contracts/tickets.ts'

export type Given = { stdin?: string; terminal?: boolean; env?: Record<string, string>; cwd?: string }
export type Row = [line: string, exit: number, says: RegExp, given?: Given]

/** The receiver is on the loopback address. */
export const NOTIFICATION_SETTINGS = { NOTIFY_ALLOW_NETS: '127.0.0.0/8' }

/** A webhook receiver that answers 200. */
export async function startReceiver(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** A delivery that was sent, and a notification: what the commands list. */
export async function makeNotifications(call: Call, receiver: string): Promise<Record<string, string>> {
  const { id: integration } = await call(connectWebhook, { name: 'Receiver', url: `${receiver}/first` })
  const subscribing = { integration_id: integration, pattern: 'deploy.failed' }
  const { id: subscription } = await call(createSubscription, subscribing)
  await call(testSubscription, { subscription_id: subscription })
  await call(createApp, { alias: 'shop', name: 'Shop' })
  await call(setFollow, { alias: 'shop', categories: ['Tickets'] })
  await call(createTicket, { alias: 'shop', title: 'It broke', body: 'Badly.' })
  const delivery = await until(async () => {
    const { deliveries } = await call(listDeliveries, { state: 'sent' })
    return deliveries[0]?.id
  })
  const notification = await until(async () => (await call(listNotifications, {})).notifications[0]?.id)
  return { integration, subscription, delivery, notification, receiver }
}

async function until(found: () => Promise<string | undefined>): Promise<string> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline;) {
    const id = await found()
    if (id !== undefined) return id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('nothing was delivered')
}

const NO = (prefix: string): string => `${prefix}_0mwhkcyh5nlh1pqqssy5gj19q`

export const NOTIFICATION_ROWS: Row[] = [
  ['apps list', 0, /^APP +NAME +YOUR ROLE +OPEN TICKETS\n[^]*\nshop +Shop +administrator +1\n/],
  ['apps list --mine --search nothing --json', 0, /"apps": \[\]/],
  ['apps list --limit x', 5, /Invalid value for --limit: x/],
  ['apps create till --name "The till"', 0, /till +The till +/],
  ['apps create till', 6, /error: /],
  ['apps create Till', 5, /lowercase letter/],
  ['apps create other --context ro', 3, /error: /],

  [
    'notifications list',
    0,
    /^ID +TIME +TYPE[^]*support\.ticket\.created +shop: a ticket was filed +no +http/,
  ],
  ['notifications list --type pipeline.* --since 2026-01-01 --json', 0, /"notifications": \[\]/],
  ['notifications list --state new', 5, /Must be one of: unread, read, all/],
  ['notifications ack {notification}', 0, /read_at: +20/],
  [`notifications ack ${NO('ntf')}`, 4, /svc notifications list/],
  ['notifications ack one', 4, /Not found/],
  ['notifications ack', 5, /requires <id>/],
  ['notifications follows', 0, /^APP +NAME +CATEGORIES[^]*\nshop +Shop +Tickets +immediately/],
  ['notifications follows --following --all --json', 0, /"app": "shop"/],
  ['notifications follows --limit 0', 5, /Invalid value for --limit: 0/],
  [
    'notifications follow shop --category Tickets --category "Failed deploys" --frequency daily',
    0,
    /shop +Shop +Failed deploys, Tickets +daily/,
  ],
  ['notifications follow shop --stop', 0, /shop +Shop +- +-/],
  ['notifications follow shop', 5, /Nothing to follow/],
  ['notifications follow shop --stop --category Checks', 5, /conflicts with/],
  ['notifications follow nothing --stop', 4, /svc notifications follows/],

  [
    'notifications integrations',
    0,
    /^ID +KIND +NAME[^]*\{integration\} +webhook +Receiver +active +0 +http:[^ ]+\/… /,
  ],
  ['notifications integrations pause {integration}', 0, /state: +paused\n/],
  ['notifications integrations pause', 5, /requires <integration_id>/],
  [`notifications integrations pause ${NO('int')}`, 4, /svc notifications integrations/],
  ['notifications integrations pause {integration} --context ro', 3, /error: /],
  ['notifications integrations resume {integration}', 0, /state: +active\n/],
  ['notifications integrations resume', 5, /requires <integration_id>/],
  [`notifications integrations resume ${NO('int')}`, 4, /svc notifications integrations/],
  ['notifications integrations resume {integration} --context ro', 3, /error: /],
  ['notifications integrations rotate-secret {integration}', 0, /whsec_/],
  ['notifications integrations rotate-secret', 5, /requires <integration_id>/],
  [`notifications integrations rotate-secret ${NO('int')}`, 4, /svc notifications integrations/],
  ['notifications integrations rotate-secret {integration} --context ro', 3, /error: /],
  ['notifications integrations --context ro', 3, /error: /],
  ['notifications integrations --all', 5, /Unknown option for .*: --all/],
  ['notifications connect Second --url -', 0, / webhook +Second +active /, { stdin: '{receiver}/second' }],
  ['notifications connect Again --url -', 6, /already connected/, { stdin: '{receiver}/second' }],
  ['notifications connect Team --chat', 0, / chat +Team +/, { stdin: '{receiver}/chat\r', terminal: true }],
  ['notifications connect Desk --email desk@people.test', 6, /no mail server/],
  ['notifications connect Desk --email nobody', 5, /address/],
  ['notifications connect Inside --url https://10.0.0.7/x', 5, /not allowed/],
  ['notifications connect Nothing', 5, /Missing option --url/],
  ['notifications preview deploy.*', 0, /^TYPE +LAST 7 DAYS +WHEN\ndeploy\.failed +0 +/],
  ['notifications preview deploy.exploded', 0, /No such event type is defined/],
  ['notifications preview Deploy!', 5, /must be an event type/],
  ['notifications subscriptions', 0, /\n\{subscription\} +deploy\.failed +Receiver +immediately +yes/],
  [
    'notifications subscriptions --pattern deploy --integration {integration} --json',
    0,
    /"is_default": false/,
  ],
  ['notifications subscriptions --limit x', 5, /Invalid value for --limit: x/],
  ['notifications subscribe {integration} deploy.* --timing hourly', 0, /hourly/],
  ['notifications subscribe {integration} deploy.*', 6, /already has a subscription/],
  [`notifications subscribe ${NO('int')} deploy.failed`, 4, /svc notifications integrations/],
  ['notifications subscribe {integration} deploy.failed --timing weekly', 5, /Must be one of: immediately/],
  ['notifications pause {subscription}', 0, / no +paused/],
  [`notifications pause ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications pause', 5, /requires <subscription_id>/],
  ['notifications test {subscription}', 6, /is paused/],
  ['notifications resume {subscription}', 0, / yes +-/],
  [`notifications resume ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications resume', 5, /requires <subscription_id>/],
  ['notifications test {subscription}', 0, /svc notifications deliveries --event evt_/],
  [`notifications test ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications test', 5, /requires <subscription_id>/],
  ['notifications deliveries', 0, /^ID +TIME +TYPE[^]*\n\{delivery\} [^\n]* webhook +Receiver +sent +- +1 /],
  [
    'notifications deliveries --state sent --channel webhook --type svc.* --integration {integration} --from 2026-01-01 --json',
    0,
    /"id": "\{delivery\}"/,
  ],
  ['notifications deliveries --state lost', 5, /Must be one of: waiting/],
  ['notifications show {delivery}', 0, /state: +sent\n[^]*attempt 1: +20\S+ sent 200 \d+ ms\n/],
  [`notifications show ${NO('dlv')}`, 4, /svc notifications deliveries/],
  ['notifications show', 5, /requires <delivery_id>/],
  ['notifications retry {delivery}', 6, /not in progress[^]*Replay it/],
  [`notifications retry ${NO('dlv')}`, 4, /svc notifications deliveries/],
  ['notifications retry', 5, /requires <delivery_id>/],
  ['notifications recover {integration}', 5, /Missing option --since/],
  ['notifications recover {integration} --since yesterday', 5, /Invalid value for --since: yesterday/],
  ['notifications recover {integration} --since 2026-01-01', 5, /Add --yes/],
  [
    'notifications recover {integration} --since 2026-01-01 --skip-unconfirmed --yes',
    0,
    /id: +rcv_[^]*state: +running[^]*svc notifications deliveries --integration/,
  ],
  [`notifications recover ${NO('int')} --since 2026-01-01 --yes`, 4, /svc notifications integrations/],
  ['notifications replay {delivery}', 5, /Add --yes/],
  ['notifications replay {delivery}', 0, /replay_of: +\{delivery\}/, { terminal: true, stdin: 'y\n' }],
  [`notifications replay ${NO('dlv')} --yes`, 4, /svc notifications deliveries/],
  ['notifications unsubscribe {subscription}', 5, /Add --yes/],
  ['notifications unsubscribe {subscription} --yes', 0, /Deleted sub_/],
  ['notifications unsubscribe {subscription} --yes', 4, /svc notifications subscriptions/],
  ['notifications disconnect {integration}', 5, /Add --yes/],
  ['notifications disconnect {integration} --yes', 0, /Removed int_/],
  ['notifications disconnect {integration} --yes', 4, /svc notifications integrations/],
  ['notifications replay {delivery} --yes', 6, /integration was removed/],
]

export const NOTIFICATION_LINES = [
  'apps list',
  'apps create shop',
  'notifications list',
  `notifications ack ${NO('ntf')}`,
  'notifications follows',
  'notifications follow shop --stop',
  'notifications integrations',
  `notifications integrations pause ${NO('int')}`,
  `notifications integrations resume ${NO('int')}`,
  `notifications integrations rotate-secret ${NO('int')}`,
  'notifications connect Third --url https://10.0.0.7/x',
  `notifications disconnect ${NO('int')} --yes`,
  'notifications subscriptions',
  `notifications subscribe ${NO('int')} deploy.failed`,
  `notifications pause ${NO('sub')}`,
  `notifications resume ${NO('sub')}`,
  `notifications unsubscribe ${NO('sub')} --yes`,
  `notifications test ${NO('sub')}`,
  'notifications preview deploy.*',
  'notifications deliveries',
  `notifications show ${NO('dlv')}`,
  `notifications retry ${NO('dlv')}`,
  `notifications recover ${NO('int')} --since 2026-01-01 --yes`,
  `notifications replay ${NO('dlv')} --yes`,
]

const NOT_WORKING = 'only a lost integration refuses: test/walks/integrations.test.ts'
export const NOTIFICATION_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'notifications integrations pause': { exits: [6], because: NOT_WORKING },
  'notifications integrations resume': { exits: [6], because: NOT_WORKING },
  'notifications integrations rotate-secret': {
    exits: [6],
    because: 'only a lost integration, or none of a webhook, refuses: test/walks/integrations.test.ts',
  },
  'notifications pause': { exits: [6], because: NOT_WORKING },
  'notifications resume': { exits: [6], because: NOT_WORKING },
  'notifications retry': {
    exits: [0],
    because: 'its receiver answers: test/walks/retry-and-recover.test.ts',
  },
  'notifications recover': {
    exits: [6],
    because: 'only a running recovery refuses: test/walks/retry-and-recover.test.ts',
  },
}
