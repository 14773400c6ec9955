import { expect, it } from 'vitest'
import { instanceTypes } from './instance-types.ts'

it('each size is offered in its zones at the prices of the simulator', () => {
  const type = instanceTypes('westus2').find(({ name }) => name === 'Standard_D2s_v5')
  expect(type).toMatchObject({ architecture: 'amd64', resources: { cpu: '2', memory: '7577Mi' } })
  const offered = type?.offerings.map(({ Price, Requirements }) => [
    Price,
    ...Requirements.flatMap(({ values }) => values),
  ])
  expect(offered).toEqual([
    [0.096, 'on-demand', 'westus2-1', 'D'],
    [0.096, 'on-demand', 'westus2-2', 'D'],
    [0.096, 'on-demand', 'westus2-3', 'D'],
    [0.0192, 'spot', 'westus2-1', 'D'],
    [0.0192, 'spot', 'westus2-2', 'D'],
    [0.0192, 'spot', 'westus2-3', 'D'],
  ])
})

it('a size without spot is not offered as spot', () => {
  const burstable = instanceTypes('westus2').find(({ name }) => name === 'Standard_B2ms')
  expect(burstable?.offerings.flatMap(({ Requirements }) => Requirements[0]?.values)).toEqual(
    Array.from({ length: 3 }, () => 'on-demand'),
  )
})
