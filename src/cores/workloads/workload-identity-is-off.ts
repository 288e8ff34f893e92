import { ServiceError } from '../../contracts/errors.ts'

export const workloadIdentityIsOff = () =>
  new ServiceError('CONFLICT', 'Workload identity is off in this installation', {
    hint: 'Create a reporting token of the app, and give it to the worker as SERVER_API_TOKEN.',
  })
