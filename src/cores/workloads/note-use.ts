/** Which pods came in by a binding, for people to see. Called when the cluster was asked: every half minute for a token. */
import { locally } from '../../../db/commit-locally.ts'
import { and, desc, eq, inArray, isNull, lt, or, sql } from '../../../db/drizzle.ts'
import { workloadBindings, workloadPods } from '../../../db/schema.ts'
import { WORKLOAD_PODS_KEPT } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import type { Binding } from './binding-rows.ts'
import type { ReviewedAccount } from './reviewed-account.ts'

export async function noteUse(
  { db, clock }: Storage,
  { id }: Pick<Binding, 'id'>,
  pod: ReviewedAccount['pod'],
): Promise<void> {
  const now = clock()
  await db
    .update(workloadBindings)
    .set({ lastUsedAt: now })
    .where(
      and(
        eq(workloadBindings.id, id),
        or(isNull(workloadBindings.lastUsedAt), lt(workloadBindings.lastUsedAt, now)),
        locally,
      ),
    )
  if (pod === null) return
  // From the binding, which may have ended meanwhile.
  await db.execute(sql`
    insert into workload_pods (binding_id, pod_uid, pod_name, first_seen_at, last_seen_at)
    select id, ${pod.uid}, ${pod.name}, ${now.toISOString()}::timestamptz, ${now.toISOString()}::timestamptz
    from workload_bindings where id = ${id} and ${locally} for share
    on conflict (binding_id, pod_uid) do update set last_seen_at = greatest(workload_pods.last_seen_at, excluded.last_seen_at)`)
  await forgetOldPods({ db }, id)
}

async function forgetOldPods({ db }: Pick<Storage, 'db'>, bindingId: string): Promise<void> {
  const old = db
    .select({ uid: workloadPods.podUid })
    .from(workloadPods)
    .where(eq(workloadPods.bindingId, bindingId))
    .orderBy(desc(workloadPods.lastSeenAt), workloadPods.podUid)
    .offset(WORKLOAD_PODS_KEPT)
  await db
    .delete(workloadPods)
    .where(and(eq(workloadPods.bindingId, bindingId), inArray(workloadPods.podUid, old), locally))
}
