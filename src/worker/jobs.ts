/** The table of recurring jobs. */
import type { Job } from './loop.ts'
import { sweep, sweepActivity, sweepDeliveries, type ActivityNeeds, type DeliveryNeeds } from './sweep.ts'

export type JobNeeds = ActivityNeeds & DeliveryNeeds & { readonly closeToStrangers: () => Promise<void> }

export const jobTable = (needs: JobNeeds): readonly Job[] => [
  { name: 'sweep', everySeconds: 10 * 60, leaseSeconds: 5 * 60, run: () => sweep(needs) },
  {
    name: 'sweep activity',
    everySeconds: 24 * 60 * 60,
    leaseSeconds: 60 * 60,
    run: () => sweepActivity(needs),
  },
  {
    name: 'sweep deliveries',
    everySeconds: 24 * 60 * 60,
    leaseSeconds: 60 * 60,
    run: () => sweepDeliveries(needs),
  },
  {
    name: 'close managed databases to strangers',
    everySeconds: 60 * 60,
    leaseSeconds: 10 * 60,
    run: () => needs.closeToStrangers(),
  },
]
