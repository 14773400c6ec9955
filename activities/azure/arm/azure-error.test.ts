import { createHttpHeaders, createPipelineRequest, RestError } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { asGoldenMarks, type GoldenMark, goldenMark, goldenSizes } from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { marksFor, noMarks, withMarks } from '../capacity/mark.ts'
import {
  armErrorCode,
  armErrorText,
  classifyRefusal,
  isResourceGone,
  launchFailedReason,
  metricsErrorCode,
  type Refusal,
  retryAfterSeconds,
  scrubbedMessage,
} from './azure-error.ts'
import { azureFailure } from './azure-failure.ts'

interface ErrorCase {
  readonly name: string
  readonly path: string
  readonly region: string
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  readonly priorMarks: readonly GoldenMark[]
  readonly response: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    readonly plainError?: string
    /** Of an AKS machine that failed. */
    readonly errorDetail?: { readonly code: string; readonly message: string }
  }
  readonly expected: {
    readonly handled: boolean
    readonly handledKind?: 'CreateError' | 'InsufficientCapacityError'
    readonly conditionReason?: string
    readonly conditionMessage?: string
    readonly handledMessage?: string
    readonly errorCode?: string
    readonly metricsErrorCode: string
    readonly seqNumDelta: number
    readonly marks: readonly GoldenMark[]
    readonly create?: { readonly conditionReason: string }
  }
}

function restError(status: number, body: string, headers: Readonly<Record<string, string>> = {}): RestError {
  const request = createPipelineRequest({ url: 'https://management.azure.com/' })
  const response = { request, status, headers: createHttpHeaders({ ...headers }), bodyAsText: body }
  const parsed = parse(body)
  const error = new RestError(parsed?.error?.message ?? body, {
    statusCode: status,
    request,
    response,
    ...(parsed?.error?.code === undefined ? {} : { code: parsed.error.code }),
  })
  error.details = parsed
  return error
}

function parse(body: string): { readonly error?: { readonly code?: string; readonly message?: string } } | undefined {
  try {
    return JSON.parse(body) as never
  } catch {
    return undefined
  }
}

const failureReason = /^[A-Z][A-Za-z]+$/

/** Joiner learns more from a refused PUT of a machine than Karpenter, so those are not compared. */
const ofVms = ({ path }: ErrorCase) => path.startsWith('vm')

const errorOf = ({ plainError, status = 400, body = '', headers }: ErrorCase['response']) =>
  plainError === undefined ? restError(status, body, headers) : new Error(plainError)

goldenSuite('azure/errors', 55, ({ cases }: { readonly cases: readonly ErrorCase[] }) => {
  it.for(cases.filter(ofVms))('$name', (golden) => {
    const { instanceType, zone, capacityType, response, expected } = golden
    const error = errorOf(response)
    expect(armErrorCode(error) ?? '').toBe(expected.errorCode ?? '')
    expect(metricsErrorCode(error)).toBe(expected.metricsErrorCode)

    const attempted = { instanceType, zone, capacityType }
    const refusal = classifyRefusal(armErrorCode(error) ?? '', armErrorText(error), attempted)
    expect(refusal !== undefined).toBe(expected.handled)
    if (refusal === undefined) expect(azureFailure(error)?.reason ?? 'AzureError').toMatch(failureReason)
    else expectSaid(refusal, golden)
    if (expected.create !== undefined) {
      const classified = refusal !== undefined && refusal.scope !== 'nothing'
      expect(classified ? refusal.reason : launchFailedReason).toBe(expected.create.conditionReason)
    }

    const { marks, news } = marksAfter(golden, refusal)
    expect(new Set(asGoldenMarks(marks))).toEqual(new Set(expected.marks))
    expect(news).toBe(expected.seqNumDelta)
  })

  it.for(cases.filter(({ path }) => path === 'machineProvisioning'))('$name', (golden) => {
    const { instanceType, zone, capacityType, response, expected } = golden
    const { code = '', message = '' } = response.errorDetail ?? {}
    const refusal = classifyRefusal(code, message, { instanceType, zone, capacityType })
    expect(refusal !== undefined).toBe(expected.handled)
    if (refusal !== undefined) expectSaid(refusal, golden)
    const { marks, news } = marksAfter(golden, refusal)
    expect(new Set(asGoldenMarks(marks))).toEqual(new Set(expected.marks))
    expect(news).toBe(expected.seqNumDelta)
  })
})

/** Returns the marks after a refusal, and how many of them are new. Not every refusal leaves one. */
function marksAfter(
  { region, instanceType, zone, capacityType, priorMarks }: ErrorCase,
  refusal: Refusal | undefined,
): ReturnType<typeof withMarks> {
  const sizes = goldenSizes(region)
  const size = sizes.find(({ name }) => name === instanceType)
  const { marks: before } = withMarks(
    noMarks,
    priorMarks.flatMap((mark) => goldenMark(mark, sizes)),
    0,
  )
  return withMarks(
    before,
    marksFor(
      { instanceType, zone, capacityType, family: size?.family ?? '', vCpus: size?.vCpus ?? 0 },
      refusal?.scope ?? 'nothing',
      {
        untilMs: refusal?.ttlMs ?? 0,
        reason: 'test',
        zones: ['0', ...(size?.zones ?? []).map((number) => `${region}-${number}`)],
      },
    ),
    0,
  )
}

/** Expects our own texts, with every name that upstream's has. */
function expectSaid({ reason, remedy, scope }: Refusal, { expected, ...attempted }: ErrorCase): void {
  expect(scope === 'nothing').toBe(expected.handledKind === 'InsufficientCapacityError')
  if (expected.conditionReason !== undefined) expect(reason).toBe(expected.conditionReason)
  const upstream = expected.conditionMessage ?? expected.handledMessage ?? ''
  for (const word of [attempted.instanceType, attempted.zone, attempted.capacityType, 'vCPU quota', 'regional'])
    if (word !== '0' && upstream.includes(word)) expect(remedy).toContain(word)
}

describe('an error of ARM', () => {
  const quota = restError(429, '{"error":{"code":"TooManyRequests","message":"slow down\\nsecret line"}}', {
    'retry-after': '17',
  })

  it('gives code and Retry-After', () => {
    expect(armErrorCode(quota)).toBe('TooManyRequests')
    expect(retryAfterSeconds(quota)).toBe(17)
    expect(retryAfterSeconds(new Error('reset'))).toBeUndefined()
    expect(armErrorCode(new Error('reset'))).toBeUndefined()
  })

  const about = (name: string) =>
    `The Resource 'Microsoft.Compute/virtualMachines/${name}' under resource group 'MC_a' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix`
  it.each<[string, number, string, string, boolean]>([
    ['this very VM', 404, 'ResourceNotFound', about('aks-a'), true],
    ['this very VM, in another case', 404, 'ResourceNotFound', about('AKS-A'), true],
    ['a VM without a name', 404, 'ResourceNotFound', 'gone', true],
    ['another VM', 404, 'ResourceNotFound', about('aks-b'), false],
    ['a part of the VM', 404, 'ResourceNotFound', about('aks-a/extensions/x'), false],
    ['its resource group', 404, 'ResourceGroupNotFound', "Resource group 'MC_a' could not be found.", false],
    ['its subscription', 404, 'SubscriptionNotFound', "The subscription 's' could not be found.", false],
    ['its parent', 404, 'ParentResourceNotFound', about('aks-a'), false],
    ['a type', 404, 'InvalidResourceType', 'no such type', false],
    ['nothing that it names', 404, '', '', false],
    ['the VM, with another status', 409, 'ResourceNotFound', about('aks-a'), false],
  ])('that says that %s is missing proves that the VM is gone: HTTP %i %s', (_, status, code, message, isGone) => {
    expect(isResourceGone(restError(status, JSON.stringify({ error: { code, message } })), 'aks-a')).toBe(isGone)
  })

  it('is shown by its first line only', () => {
    expect(scrubbedMessage(quota)).toBe('TooManyRequests (HTTP 429): slow down')
    expect(scrubbedMessage(restError(500, 'x'.repeat(5000))).length).toBeLessThan(400)
  })
})
