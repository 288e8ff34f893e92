/** What the deployments core exports. */
export { claimDeployment } from './claim-deployment.ts'
export { reportDeploymentOutput } from './report-deployment-output.ts'
export { expireDeployments } from './expire-deployments.ts'
export { sweepDeploymentOutput } from './sweep-deployment-output.ts'
export { lockQueue, presentDeployment } from './deployment-rows.ts'
export { findDeployment, findEarlier, findSucceededBy, readLastDeployments } from './find-deployments.ts'
export { queueDeployment } from './queue-deployment.ts'
