/** A row of the trail as an event of OCSF 1.3. */
import type { TrailRow } from '../../contracts/trail-format.ts'
import type { OutputOf } from '../verb.ts'

type Event = OutputOf<'streamTrail'>['events'][number]

const CLASS = 6003
const OTHER = 99
/** By the last word of an action's name. */
const ACTIVITIES: readonly (readonly [RegExp, number])[] = [
  [/[._](created|added|joined|connected|attached|started|filed|bound|linked|pushed|invited)$/, 1],
  [/[._](shown|previewed)$/, 2],
  [/[._](removed|revoked|ended|left|deleted|disconnected|unbound|unlinked|ended_again)$/, 4],
  [/[._](changed|updated|set|renamed|rotated|narrowed|configured|described|on|off|moved|exposed|hidden)$/, 3],
]

export function ocsfEvent(
  orgId: string,
  { number, row, epoch }: { number: number; row: TrailRow; epoch: string },
): Event {
  const text = (field: string) => (typeof row[field] === 'string' ? row[field] : undefined)
  const isAudit = row.kind === 'audit'
  const operation = text(isAudit ? 'action' : 'name') ?? 'unknown'
  const activity_id = isAudit ? (ACTIVITIES.find(([ending]) => ending.test(operation))?.[1] ?? OTHER) : 2
  const resource = text(isAudit ? 'subject' : 'source_id')
  const request = text('request_id')
  return {
    category_uid: 6,
    class_uid: CLASS,
    activity_id,
    type_uid: CLASS * 100 + activity_id,
    severity_id: 1,
    time: Date.parse(row.at),
    status_id: isAudit || row['outcome'] === 'answered' ? 1 : 2,
    ...given('status_code', text('error')),
    ...(typeof row['duration_ms'] === 'number' && { duration: row['duration_ms'] }),
    actor: {
      user: {
        ...given('uid', text(isAudit ? 'actor_id' : 'user_id')),
        name: text(isAudit ? 'actor_name' : 'user_name') ?? '',
        ...given('type', text('actor_kind')),
      },
      ...given('app_uid', text('client_id')),
      ...given('app_name', text('client_name')),
    },
    api: { operation, service: { name: 'svc' }, ...(request !== undefined && { request: { uid: request } }) },
    src_endpoint: { name: text('entry_point') ?? 'svc' },
    ...(resource !== undefined && {
      resources: [isAudit ? { name: resource } : { name: operation, uid: resource }],
    }),
    metadata: {
      version: '1.3.0',
      product: { name: 'svc', vendor_name: 'svc' },
      uid: row.id,
      log_name: row.kind,
      tenant_uid: orgId,
      sequence: number,
    },
    unmapped: {
      epoch,
      ...Object.fromEntries(
        UNMAPPED.flatMap((field) => {
          const value = row[field]
          return typeof value === 'string' || typeof value === 'number' ? [[field, value]] : []
        }),
      ),
    },
  }
}

/** Sizes and ids that OCSF has no field for. Digests of questions stay here. */
const UNMAPPED = [
  'type',
  'outcome',
  'grant_id',
  'hits',
  'question_bytes',
  'answer_bytes',
  'support_session_id',
] as const

const given = <Name extends string>(name: Name, value: string | undefined): { [N in Name]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { [N in Name]?: string }
