import { expect, it } from 'vitest'
import { serviceOf } from './port-forward.ts'

it.each([
  ['temporal-frontend.temporal.svc:7233', { service: 'temporal-frontend', namespace: 'temporal', port: 7233 }],
  ['temporal.t:1', { service: 'temporal', namespace: 't', port: 1 }],
  ['f.t.svc.cluster.local:7233', { service: 'f', namespace: 't', port: 7233 }],
  ['localhost:7233', undefined],
  ['my.tmprl.cloud:7233', undefined],
  ['10.0.0.1:7233', undefined],
  ['f.t.svc', undefined],
])('%s is the Service %j', (address, service) => {
  expect(serviceOf(address)).toEqual(service)
})
