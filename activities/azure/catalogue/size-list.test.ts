import { createHttpHeaders, createPipelineRequest } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { zoneDetailSpelling } from '../arm/client.ts'
import { keptSizes } from './size-list.ts'

describe('kept sizes', () => {
  it('are the same after they were kept', () => {
    const sizes = new Map(goldenSizes('southcentralus').map((size) => [size.name, size]))
    expect(sizes.size).toBeGreaterThanOrEqual(16)
    expect(keptSizes.schema.parse(JSON.parse(JSON.stringify(keptSizes.schema.encode(sizes))))).toEqual(sizes)
  })

  it.each([{}, [], null])('are refused when they are %j', (json) => {
    expect(keptSizes.schema.safeParse(json).success).toBe(false)
  })
})

describe('the spelling of zone details', () => {
  const answerTo = async (url: string, body: string) => {
    const request = createPipelineRequest({ url })
    const answer = { status: 200, headers: createHttpHeaders(), request, bodyAsText: body }
    return (await zoneDetailSpelling.sendRequest(request, () => Promise.resolve(answer))).bodyAsText
  }
  const body = '{"zoneDetails":[{"Name" : ["1"],"capabilities":[{"name":"Name","value":"True"}]}]}'

  it('is corrected in lists of SKUs', async () => {
    const skus = 'https://arm/subscriptions/s/providers/Microsoft.Compute/skus?api-version=2021-07-01'
    expect(await answerTo(skus, body)).toBe(body.replace('"Name" :', '"name" :'))
  })

  it('is left alone elsewhere', async () => {
    expect(await answerTo('https://arm/subscriptions/s/providers/Microsoft.Compute/virtualMachines', body)).toBe(body)
  })
})
