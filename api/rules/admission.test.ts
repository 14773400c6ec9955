import { describe, expect, it } from 'vitest'
import { type AdmissionPolicy, type AdmissionRequest, admissionOf } from './admission.ts'
import { chartAdmission, creationOf } from './chart-admission.ts'

const object = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { size: 3 } }
const rule = {
  apiGroups: ['example.com'],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['things'],
}

function policy(change: Partial<AdmissionPolicy['spec']>): AdmissionPolicy {
  const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false', message: 'no' }] }
  return { metadata: { name: 'p' }, spec: { ...spec, ...change } }
}

/** The messages of what a policy that denies says to a request. */
function denials(change: Partial<AdmissionPolicy['spec']>, request: Partial<AdmissionRequest> = {}): readonly string[] {
  const { denied, warnings } = admissionOf({ ...creationOf(object), ...request }, [
    { policy: policy(change), actions: ['Deny'] },
  ])
  expect(warnings).toEqual([])
  return denied.map(({ message }) => message)
}

const validating = (expression: string, more: object = {}) => ({
  validations: [{ expression, message: 'no', ...more }],
})
const failing = expect.stringContaining('missing')

describe('a policy', () => {
  it.each<[string, Partial<typeof rule>, Partial<AdmissionRequest>, boolean]>([
    ['its resource', {}, {}, true],
    ['another group', {}, { resource: { group: '', version: 'v1', resource: 'things' } }, false],
    ['another version', {}, { resource: { group: 'example.com', version: 'v2', resource: 'things' } }, false],
    ['another resource', {}, { resource: { group: 'example.com', version: 'v1', resource: 'others' } }, false],
    [
      'any version',
      { apiVersions: ['*'] },
      { resource: { group: 'example.com', version: 'v2', resource: 'things' } },
      true,
    ],
    [
      'any group and resource',
      { apiGroups: ['*'], resources: ['*'] },
      { resource: { group: '', version: 'v1', resource: 'pods' } },
      true,
    ],
    ['an update', {}, { operation: 'UPDATE', oldObject: object }, true],
    ['a deletion', {}, { operation: 'DELETE', oldObject: object }, false],
    ['any operation', { operations: ['*'] }, { operation: 'DELETE', oldObject: object }, true],
  ])('is about %s', (_, change, request, isMatch) => {
    const constraints = {
      resourceRules: [
        { ...rule, apiGroups: ['other'] },
        { ...rule, ...change },
      ],
    }
    expect(denials({ matchConstraints: constraints }, request)).toEqual(isMatch ? ['no'] : [])
  })

  it.each<[string, readonly string[], 'Fail' | 'Ignore', readonly unknown[]]>([
    ['that hold', ['object.spec.size == 3', "request.operation == 'CREATE'"], 'Fail', ['no']],
    ['of which one is false', ['true', 'object.spec.size > 3'], 'Fail', []],
    ['of which one fails', ['true', 'object.missing'], 'Fail', [failing]],
    ['of which one fails, ignored', ['true', 'object.missing'], 'Ignore', []],
    ['of which one fails and another one is false', ['object.missing', 'false'], 'Fail', []],
    ['on the user', ["request.userInfo.username == 'somebody'"], 'Fail', []],
  ])('with match conditions %s', (_, conditions, failurePolicy, expected) => {
    const matchConditions = conditions.map((expression, index) => ({ name: `c${index}`, expression }))
    expect(denials({ matchConditions, failurePolicy })).toEqual(expected)
  })

  it.each<[string, Partial<AdmissionPolicy['spec']>, readonly unknown[]]>([
    ['holds', validating('object.spec.size == 3 && oldObject == null'), []],
    ['is false', validating('object.spec.size == 2'), ['no']],
    ['fails', validating('object.missing'), [failing]],
    ['fails, ignored', { ...validating('object.missing'), failurePolicy: 'Ignore' }, []],
    ['has no message', { validations: [{ expression: ' 1 == 2 ' }] }, ['failed expression: 1 == 2']],
    [
      'has a message expression',
      validating('false', { messageExpression: "'size ' + string(object.spec.size)" }),
      ['size 3'],
    ],
    ['has a message of spaces around', validating('false', { messageExpression: "'  a  '" }), ['a']],
    ['has an empty message', validating('false', { messageExpression: "' '" }), ['no']],
    ['has a message of two lines', validating('false', { messageExpression: String.raw`'a\nb'` }), ['no']],
    ['has a message that is no text', validating('false', { messageExpression: '1' }), ['no']],
    ['has a message that fails', validating('false', { messageExpression: 'object.missing' }), ['no']],
    [
      'has the longest message',
      validating('false', { messageExpression: `'${'ä'.repeat(2560)}'` }),
      ['ä'.repeat(2560)],
    ],
    ['has a longer message', validating('false', { messageExpression: `'${'ä'.repeat(2560)}a'` }), ['no']],
  ])('whose validation %s', (_, change, expected) => {
    expect(denials(change)).toEqual(expected)
  })

  it('tells each violation, with variables that are evaluated where they are used', () => {
    const variables = [
      { name: 'size', expression: 'object.spec.size' },
      { name: 'double', expression: 'variables.size * 2' },
      { name: 'bad', expression: 'object.missing' },
    ]
    const validations = [
      { expression: 'variables.double == 5', messageExpression: 'string(variables.double)' },
      { expression: 'variables.double == 6' },
      { expression: 'variables.bad == 1 || true' },
      { expression: 'variables.bad == 1' },
    ]
    expect(denials({ variables, validations })).toEqual(['6', failing])
  })

  it('warns, denies or does both, as its binding says', () => {
    const violation = { policy: 'p', message: 'no' }
    const outcome = (...actions: string[]) => admissionOf(creationOf(object), [{ policy: policy({}), actions }])
    expect(outcome('Warn', 'Audit')).toEqual({ denied: [], warnings: [violation] })
    expect(outcome('Deny')).toEqual({ denied: [violation], warnings: [] })
    expect(outcome('Deny', 'Warn')).toEqual({ denied: [violation], warnings: [violation] })
    expect(outcome()).toEqual({ denied: [], warnings: [] })
  })

  it.each([
    [{ paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }, 'spec.paramKind'],
    [{ matchConstraints: { resourceRules: [rule], objectSelector: { matchLabels: { a: 'b' } } } }, 'objectSelector'],
    [{ matchConstraints: { resourceRules: [rule], excludeResourceRules: [rule] } }, 'excludeResourceRules'],
    [{ matchConstraints: { resourceRules: [{ ...rule, resourceNames: ['a'] }] } }, 'resourceRules[0].resourceNames'],
  ])('with %j is refused', (change, field) => {
    expect(() => denials(change as Partial<AdmissionPolicy['spec']>)).toThrow(`${field} `)
  })

  it('with the selectors that the API server writes is evaluated', () => {
    const constraints = { resourceRules: [rule], namespaceSelector: {}, objectSelector: {}, matchPolicy: 'Equivalent' }
    expect(denials({ matchConstraints: constraints })).toEqual(['no'])
  })
})

describe("the chart's policies", () => {
  const overlay = { apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name: 'a' } }

  it('are about kinds of their groups', () => {
    expect(chartAdmission(overlay)).toEqual({
      denied: [],
      warnings: [{ policy: 'joiner-unread', message: expect.stringMatching(/^kind NodeOverlay, metadata\.name a: /) }],
    })
    const none = { denied: [], warnings: [] }
    expect(chartAdmission({ ...overlay, apiVersion: 'v1alpha1' })).toEqual(none)
    expect(chartAdmission({ ...overlay, kind: 'NodeOverlays' })).toEqual(none)
    expect(chartAdmission({})).toEqual(none)
  })

  it('say nothing where an expression fails', () => {
    expect(chartAdmission({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'a' } })).toEqual({
      denied: [],
      warnings: [],
    })
  })
})
