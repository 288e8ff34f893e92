/** Output of long ago. The deployment itself stays. */
import { lt } from '../../../db/drizzle.ts'
import { deploymentOutput } from '../../../db/schema.ts'
import { DEPLOYMENT_OUTPUT } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

export async function sweepDeploymentOutput({ db, clock }: Storage): Promise<void> {
  const before = new Date(clock().getTime() - DEPLOYMENT_OUTPUT.days * 24 * 60 * 60 * 1000)
  await db.delete(deploymentOutput).where(lt(deploymentOutput.at, before))
}
