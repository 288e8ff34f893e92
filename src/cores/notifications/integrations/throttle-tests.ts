import type { Transaction } from '../../../../db/connect.ts'
import { DELIVERY_TESTS_PER_ORGANIZATION } from '../../../contracts/limits.ts'
import type { Clock } from '../../dependencies.ts'
import { throttle } from '../../throttle.ts'

/** Tests of integrations and of subscriptions together. In the transaction, so that a refused one uses up nothing. */
export const throttleTests = (tx: Transaction, clock: Clock, orgId: string): Promise<void> =>
  throttle({ db: tx, clock }, `delivery-tests-of:${orgId}`, DELIVERY_TESTS_PER_ORGANIZATION)
