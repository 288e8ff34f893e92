import { and, count, eq, lte, ne, or, sql } from '../../../db/drizzle.ts'
import { workloadBindings } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { WORKLOAD_BINDINGS_PER_APP } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import { requireAppReader, type App } from '../apps/index.ts'
import { recordEnding } from '../record-ending.ts'
import type { Transaction } from '../../../db/connect.ts'
import type { WithDirectory } from '../directory/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { bindingsOf, presentBinding, presentBindings, subjectOf, type Binding } from './binding-rows.ts'
import { workloadIdentityIsOff } from './workload-identity-is-off.ts'

export type BindingDeps = {
  /** What a pod's token must be for; undefined: workload identity is off here. */
  readonly workloadAudience: string | undefined
  /** Asks the auth-service, in the name of whoever calls: it alone may ask the cluster. */
  readonly findServiceAccount: (
    principal: Principal,
    account: { namespace: string; service_account: string },
  ) => Promise<{ readonly uid: string }>
}

export const bindServiceAccount: Verb<'bindServiceAccount', WithDirectory & BindingDeps> = writeInSteps(
  { author: 'admin', audit: ['app.service_account_bound', 'app.service_account_unbound'] },
  async (
    { db, clock, userId, principal, findServiceAccount, workloadAudience, directory, transaction },
    { alias, ...account },
  ) => {
    if (workloadAudience === undefined) throw workloadIdentityIsOff()
    // Before the cluster is asked.
    const app = await requireAppReader(directory, db, principal, alias)
    const askedAt = clock()
    const { uid } = await findServiceAccount(principal, account)
    const named = { namespace: account.namespace, serviceAccount: account.service_account, uid }
    return transaction(async ({ tx, member, audit }) => {
      await lockBindings(tx, app)
      for (const ended of await endOthers(tx, app.orgId, named, askedAt)) {
        recordEnding(tx, 'service_account', [ended])
        await audit('app.service_account_unbound', subjectOf({ alias: ended.appAlias }, ended), {
          orgId: ended.orgId,
          as: ended.orgId === app.orgId ? member : bySvc(member),
        })
      }
      const bound = await findBinding(tx, app.orgId, named)
      // Asked for twice, perhaps because the answer was lost.
      if (bound?.appId === app.id) return (await presentBindings(tx, [bound]))[0]!
      if (bound) throw alreadyBound(`This service account is bound to the app ${bound.appAlias}`)
      await requireCapacity(tx, app)
      const now = clock()
      const [row] = await tx
        .insert(workloadBindings)
        .values({
          ...named,
          id: makeId('wlb', now.getTime()),
          orgId: app.orgId,
          appId: app.id,
          appAlias: app.alias,
          createdBy: userId,
          createdByName: member.userName,
          createdAt: now,
        })
        .onConflictDoNothing()
        .returning()
      // By another organization, which the cluster has named meanwhile. Whose it is stays untold.
      if (!row) throw alreadyBound('This service account is bound already')
      await audit('app.service_account_bound', subjectOf(app, row))
      return presentBinding(row, [])
    })
  },
)

type Named = { readonly namespace: string; readonly serviceAccount: string; readonly uid: string }

/** One at a time in an organization: a burst stays below the limit. */
const lockBindings = (tx: Transaction, { orgId }: App) =>
  tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`bindings of ${orgId}`}, 0))`)

async function requireCapacity(tx: Transaction, app: App): Promise<void> {
  const [bound] = await tx.select({ count: count() }).from(workloadBindings).where(bindingsOf(app))
  if (bound!.count < WORKLOAD_BINDINGS_PER_APP) return
  throw new ServiceError(
    'CONFLICT',
    `The app already has ${WORKLOAD_BINDINGS_PER_APP} service accounts. Remove one first.`,
  )
}

/**
 * What the answer of the cluster has ended: bindings of another uid, because a uid never comes back, and those of other
 * organizations, because the account now names this one. None that was made after the cluster was asked.
 */
const endOthers = (
  tx: Transaction,
  orgId: string,
  { namespace, serviceAccount, uid }: Named,
  askedAt: Date,
): Promise<Binding[]> =>
  tx
    .delete(workloadBindings)
    .where(
      and(
        eq(workloadBindings.namespace, namespace),
        eq(workloadBindings.serviceAccount, serviceAccount),
        or(ne(workloadBindings.uid, uid), ne(workloadBindings.orgId, orgId)),
        lte(workloadBindings.createdAt, askedAt),
      ),
    )
    .returning()

async function findBinding(
  tx: Transaction,
  orgId: string,
  { namespace, serviceAccount, uid }: Named,
): Promise<Binding | undefined> {
  const [found] = await tx
    .select()
    .from(workloadBindings)
    .where(
      and(
        eq(workloadBindings.orgId, orgId),
        eq(workloadBindings.namespace, namespace),
        eq(workloadBindings.serviceAccount, serviceAccount),
        eq(workloadBindings.uid, uid),
      ),
    )
  return found
}

/** In the trail of another organization: who acts in this one is not theirs to know. */
const bySvc = ({ requestId }: Pick<Principal, 'requestId'>) => ({
  kind: 'anonymous' as const,
  userId: null,
  userName: 'svc',
  requestId,
})

const alreadyBound = (message: string) =>
  new ServiceError('CONFLICT', message, {
    hint: 'A service account reports about one app. Remove it there first, or use another one.',
  })
