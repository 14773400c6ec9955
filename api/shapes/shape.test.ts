import { describe, expect, it } from 'vitest'
import { pathText } from '../../core/values/field-error.ts'
import { nodeClassSpec } from '../node-class.ts'
import { nodePoolSpec } from '../node-pool.ts'
import { isKnownKind, objectProblem, shapeOf } from './objects.ts'
import { scenarioShape } from './scenario.ts'
import {
  anyOf,
  choice,
  list,
  map,
  numberFrom,
  oneOf,
  problemOf,
  quantity,
  record,
  strictRecord,
  text,
  time,
  valueText,
  wholeNumber,
} from './shape.ts'

/** As commands show it; undefined: nothing is wrong. */
function problemText(...[shape, value]: Parameters<typeof problemOf>): string | undefined {
  const problem = problemOf(shape, value)
  return problem && `${pathText(problem.path)} ${valueText(problem.value)}; ${problem.remedy}`.trim()
}

describe('a shape', () => {
  it.each([
    [text, 7, 'is 7; write "7", with the quotes'],
    [wholeNumber, 1.5, 'is 1.5; write a whole number'],
    [wholeNumber, 2 ** 60, undefined],
    [numberFrom(1, 5), 6, 'is 6; write a number from 1 to 5'],
    [numberFrom(0), -1, 'is -1; write a number of 0 or more'],
    [time, 'soon', 'is "soon"; write a time such as 2026-03-01T12:00:00Z'],
    [quantity, '1x', 'is "1x"; write a quantity such as 500m or 2Gi'],
    [quantity, 2, undefined],
    [oneOf('a', 'b'), 'c', 'is "c"; use a, b'],
    [list(text), 'a', 'is "a"; write a list'],
    [list(text), ['a', null, 3], '[2] is 3; write "3", with the quotes'],
    [anyOf('write a or 1', oneOf('a'), wholeNumber), 1.5, 'is 1.5; write a or 1'],
    [map(text), [], 'is []; write a map'],
    [map(text), { a: null, 'b/c': 3 }, '["b/c"] is 3; write "3", with the quotes'],
    [map(text), { constructor: 'a', toString: 'b' }, undefined],
    [map(text), JSON.parse('{"__proto__": 3}'), '__proto__ is 3; write "3", with the quotes'],
    [record({ a: text }, ['a']), {}, 'a is missing; add it'],
    [record({ a: text }, ['a']), { a: null }, 'a is null; add it'],
    [record({ a: text }), { a: null, b: 3 }, undefined],
    [record({ a: map(text) }, ['a']), {}, 'a is missing; add it'],
    [record({ a: text }), [], 'is []; write a map'],
    [strictRecord({ a: text, b: text }), { c: 3 }, 'c is 3; use one of the fields a, b'],
  ])('%# says what is wrong, where, and what would be right', (shape, value, message) => {
    expect(problemText(shape, value)).toBe(message)
  })

  it('shows of a long value the beginning, on one line', () => {
    expect(valueText(`a\n${'b'.repeat(100)}`)).toMatch(/^is "a\\n.{50,60}\.\.\.$/)
  })
})

describe('the shape of a schema', () => {
  it.each([
    [
      nodeClassSpec,
      { imageFamily: 'Windows' },
      'imageFamily is "Windows"; use Ubuntu, Ubuntu2204, Ubuntu2404, AzureLinux',
    ],
    [
      nodeClassSpec,
      { security: { trustedLaunch: { vtpm: 'yes' } } },
      'security.trustedLaunch.vtpm is "yes"; write true or false',
    ],
    [nodeClassSpec, { osDiskSizeGB: '128' }, 'osDiskSizeGB is "128"; write a whole number'],
    // Bounds are the API server's, as is what is missing where an object can be read without it.
    [nodeClassSpec, { osDiskSizeGB: 1, localDNS: { mode: 'Required' } }, undefined],
    [nodePoolSpec, { template: { spec: { nodeClassRef: { group: 'g', kind: 'k', name: 'a' } } } }, undefined],
    [
      nodePoolSpec,
      { template: { spec: { nodeClassRef: { group: 'g', name: 'a' } } } },
      'template.spec.nodeClassRef.kind is missing; add it',
    ],
    [nodePoolSpec, {}, 'template is missing; add it'],
    [nodePoolSpec, { template: { spec: { nodeClassRef: {} } } }, 'template.spec.nodeClassRef.group is missing; add it'],
  ])('%# is lenient with manifests', (schema, value, message) => {
    expect(problemText(shapeOf(schema), value)).toBe(message)
  })
})

describe('an object', () => {
  it('is judged by its kind', () => {
    expect(isKnownKind('NodePool', 'karpenter.sh/v1')).toBe(true)
    expect(isKnownKind('NodePool', 'example.com/v1')).toBe(false)
    expect(isKnownKind('toString')).toBe(false)
    expect(objectProblem({ kind: 'Pod', metadata: { name: 'a' }, spec: { priority: 'high' } })).toEqual({
      path: ['spec', 'priority'],
      value: 'high',
      remedy: 'write a number',
    })
    expect(objectProblem({ kind: 'toString' })).toBeUndefined()
  })

  it.each([
    [{ objects: [3] }, 'objects[0] is 3; write a map with apiVersion and kind'],
    [{ objects: [{}] }, 'objects[0].kind is missing; every object has one'],
    [{ objects: [{ kind: 'Pod' }] }, 'objects[0].metadata is missing; add it'],
    [{ options: { featureGates: { A: 'on' } } }, 'options.featureGates.A is "on"; write true or false'],
    [{ objects: [{ kind: 'Unknown' }] }, undefined],
  ])('of a scenario is named by its place: %#', (scenario, message) => {
    expect(problemText(scenarioShape, scenario)).toBe(message)
  })
})

it.each([[{ toString: 'no function' }], [[{ valueOf: 1, toString: null }]]])(
  'of %j no word is the one that is meant, so all are named',
  (given) => {
    expect(choice(['Equal', 'Exists'], given)).toBe('Equal, Exists')
  },
)
