/** Bindings as the API returns them, with the pods that came in by them. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, inArray } from '../../../db/drizzle.ts'
import { workloadBindings, workloadPods } from '../../../db/schema.ts'
import type { App } from '../apps/index.ts'

export type Binding = typeof workloadBindings.$inferSelect
type Pod = typeof workloadPods.$inferSelect

export const bindingsOf = ({ orgId, id }: Pick<App, 'orgId' | 'id'>) =>
  and(eq(workloadBindings.orgId, orgId), eq(workloadBindings.appId, id))

export async function presentBindings(db: Handle, rows: readonly Binding[]) {
  const pods =
    rows.length === 0
      ? []
      : await db
          .select()
          .from(workloadPods)
          .where(
            inArray(
              workloadPods.bindingId,
              rows.map(({ id }) => id),
            ),
          )
          .orderBy(desc(workloadPods.lastSeenAt), workloadPods.podUid)
  const byBinding = Map.groupBy(pods, ({ bindingId }) => bindingId)
  return rows.map((row) => presentBinding(row, byBinding.get(row.id) ?? []))
}

export const presentBinding = (row: Binding, pods: readonly Pod[]) => ({
  id: row.id,
  namespace: row.namespace,
  service_account: row.serviceAccount,
  uid: row.uid,
  created_by: row.createdByName,
  created_at: row.createdAt.toISOString(),
  last_used_at: row.lastUsedAt?.toISOString() ?? null,
  pods: pods.map(({ podName, firstSeenAt, lastSeenAt }) => ({
    name: podName,
    first_seen_at: firstSeenAt.toISOString(),
    last_seen_at: lastSeenAt.toISOString(),
  })),
})

/** As the audit trail names it. */
export const subjectOf = (
  app: Pick<App, 'alias'>,
  { namespace, serviceAccount }: Pick<Binding, 'namespace' | 'serviceAccount'>,
): string => `${app.alias}: ${namespace}/${serviceAccount}`
