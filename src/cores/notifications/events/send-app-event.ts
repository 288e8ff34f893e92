import { randomUUID } from 'node:crypto'
import { confirmLater } from '../../../../db/commit-locally.ts'
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { APP_EVENTS, partsOfAppEvent } from '../../../contracts/events.ts'
import { maskSecrets } from '../../../contracts/mask-secrets.ts'
import { sha256 } from '../../../trust/keyed-hash.ts'
import { requireAppWriter, type App } from '../../apps/index.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { recordAppEvent, sourceOfApp } from '../../outbox.ts'
import { throttle } from '../../throttle.ts'
import { write, type Verb } from '../../verb.ts'

export type AppEventDeps = WithDirectory & { readonly appUrl: URL; readonly appEventsPerDay: number }

export const sendAppEvent: Verb<'sendAppEvent', AppEventDeps> = write(
  { by: 'principal', events: APP_EVENTS },
  async ({ tx, clock, principal, directory, appUrl, appEventsPerDay }, { alias, ...input }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    if (partsOfAppEvent(input.type).alias !== alias) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: [`type: must begin with app.${alias}.`],
      })
    }
    const event = {
      type: input.type,
      subject: `apps/${alias}/${input.subject}`,
      text: input.text === undefined ? null : maskSecrets(input.text),
      link: readLink(input.link ?? `/console/apps/${alias}`, appUrl),
    }
    const key = input.idempotency_key === undefined ? null : sha256(input.idempotency_key)
    const earlier = key === null ? undefined : await findByKey(tx, app, key)
    if (earlier) {
      const { id, ...sent } = earlier
      if (SENT.some((name) => sent[name] !== event[name])) {
        throw new ServiceError('CONFLICT', 'This idempotency key was used for another event')
      }
      // The first one may still wait for its standby.
      await confirmLater(tx)
      return { id, ...event, replayed: true }
    }
    // A repetition is not counted: a program that retries does not use up its day.
    const perDay = { count: appEventsPerDay, seconds: DAY_SECONDS }
    await throttle({ db: tx, clock }, `app-events:${app.orgId}:${app.id}`, perDay)
    const id = await recordAppEvent(tx, clock, { app, ...event, dedupKey: key ?? randomUUID() })
    return { id, ...event, replayed: false }
  },
)

const SENT = ['type', 'subject', 'text', 'link'] as const
const DAY_SECONDS = 24 * 60 * 60

/** A page of the console, whatever it was written like: nothing else of our origin, and no other one. */
function readLink(given: string, appUrl: URL): string {
  const url = URL.canParse(given, appUrl) ? new URL(given, appUrl) : undefined
  const isOurs =
    url?.origin === appUrl.origin &&
    url.username === '' &&
    url.password === '' &&
    /^\/console(?:\/|$)/.test(url.pathname)
  // What follows the path is free text, and goes to every receiver.
  if (isOurs) return maskSecrets(url.origin + url.pathname)
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: [`link: must be a page of the console, such as ${new URL('/console/apps', appUrl).href}`],
  })
}

type Earlier = { id: string; type: string; subject: string; text: string | null; link: string }

/** Shipped already or not. Two at the same moment: the second waits here for the first, and then finds it. */
async function findByKey(tx: Transaction, app: App, key: string): Promise<Earlier | undefined> {
  const source = sourceOfApp(app.id)
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`${app.orgId} ${source} ${key}`}, 0))`)
  const [found] = await tx.execute<Earlier>(sql`
    select id, type, subject, text, data->>'link' as link from outbox
    where org_id = ${app.orgId} and source = ${source} and dedup_key = ${key}
    union all
    select e.id, e.type, e.subject, e.text, e.data->>'link' from event_keys k
    join events e on e.org_id = k.org_id and e.id = k.event_id
    where k.org_id = ${app.orgId} and k.source = ${source} and k.dedup_key = ${key}
    limit 1`)
  return found
}
