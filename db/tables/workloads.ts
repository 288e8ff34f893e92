/** Workload identity: which service account of the cluster reports about which app, and its pods that did. */
import { index, pgTable, primaryKey, text, uniqueIndex } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'
import { organizations } from './organizations.ts'

/** They belong to the app: whoever bound one may leave, and its pods go on. */
export const workloadBindings = pgTable(
  'workload_bindings',
  {
    id: text('id').primaryKey(),
    orgId: orgId().references(() => organizations.id, { onDelete: 'cascade' }),
    appId: text('app_id').notNull(),
    /** It never changes, and validation reads no table of the tenant. */
    appAlias: text('app_alias').notNull(),
    namespace: text('namespace').notNull(),
    serviceAccount: text('service_account').notNull(),
    /** Of the service account: one that was deleted and made again under the same name is another one. */
    uid: text('uid').notNull(),
    createdBy: text('created_by').notNull(),
    /** As it was then: a person may be gone when somebody reads this. */
    createdByName: text('created_by_name').notNull(),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at'),
  },
  (t) => [
    // Over all organizations: a token leads to one of them.
    uniqueIndex('workload_bindings_by_account').on(t.namespace, t.serviceAccount, t.uid),
    index('workload_bindings_by_app').on(t.orgId, t.appId, t.id),
  ],
)

/** Who came in by a binding, for people to see. */
export const workloadPods = pgTable(
  'workload_pods',
  {
    bindingId: text('binding_id')
      .notNull()
      .references(() => workloadBindings.id, { onDelete: 'cascade' }),
    podUid: text('pod_uid').notNull(),
    podName: text('pod_name').notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.bindingId, t.podUid] })],
)
