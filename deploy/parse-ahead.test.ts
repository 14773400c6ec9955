import { runInThisContext } from 'node:vm'
import { parse } from '@bufbuild/cel'
import * as fc from 'fast-check'
import { afterAll, expect, it, vi } from 'vitest'
import type { SyntaxTree } from '../api/rules/parsed-ahead.ts'
import { randomPool } from '../test/api/admission-objects.ts'
import { bufferCases, overlayCases } from '../test/api/feature-crd-cases.ts'
import { celTexts, parsedAheadCode, schemaTexts } from './parse-ahead.ts'

const ahead = new Map(runInThisContext(parsedAheadCode()) as readonly (readonly [string, () => SyntaxTree])[])

/** A tree as JSON, without the names of types, which its planner does not read. */
const shown = (tree: unknown) =>
  JSON.stringify(tree, (key, value: unknown) => {
    if (key === '$typeName') return undefined
    return typeof value === 'bigint' ? `${value}n` : value
  })

it('each rule of the CRDs and each expression of the policies is parsed ahead, as the library parses it', () => {
  expect([...ahead.keys()]).toEqual(celTexts())
  expect(celTexts()).toEqual(expect.arrayContaining([expect.stringContaining('karpenter.sh/nodepool')]))
  for (const [text, tree] of ahead) expect(shown(tree())).toBe(shown(parse(text).expr))
})

async function validation(trees: ReadonlyMap<string, () => SyntaxTree>, schemas: ReturnType<typeof schemaTexts>) {
  const asked = vi.fn((text: string) => trees.get(text))
  const read = vi.fn((json: string): unknown => JSON.parse(json))
  vi.resetModules()
  vi.doMock('../api/rules/parsed-ahead.ts', async () => {
    const specs: Readonly<Record<string, unknown>> = {
      ...(await import('../api/node-claim.ts')),
      ...(await import('../api/node-class.ts')),
      ...(await import('../api/node-pool.ts')),
    }
    return {
      parsedAhead: { get: asked },
      schemasAhead: new Map(schemas.map(({ name, json }) => [specs[name], () => read(json)])),
    }
  })
  const { validateObject } = await import('../starter/cli/validate/validate-object.ts')
  return {
    validateObject,
    found: () => asked.mock.results.filter(({ value }) => value !== undefined).length,
    read: () => read.mock.calls.length,
  }
}

afterAll(() => vi.doUnmock('../api/rules/parsed-ahead.ts'))

it('manifests are judged the same by what is parsed ahead and by what is parsed then', async () => {
  const [then, before] = [await validation(new Map(), []), await validation(ahead, schemaTexts())]
  const manifests = [
    ...overlayCases.flatMap(({ specs }) =>
      specs.map((spec) => ['karpenter.sh/v1alpha1', 'NodeOverlay', spec] as const),
    ),
    ...bufferCases.flatMap(({ specs }) =>
      specs.map((spec) => ['autoscaling.x-k8s.io/v1beta1', 'CapacityBuffer', spec] as const),
    ),
  ].map(([apiVersion, kind, spec]) => ({ apiVersion, kind, metadata: { name: 'a' }, spec }))
  const results = manifests.map(then.validateObject)
  expect(new Set(results.map((one) => one.kind === 'checked' && one.errors.length > 0))).toEqual(new Set([true, false]))
  expect(manifests.map(before.validateObject)).toEqual(results)
  fc.assert(
    fc.property(randomPool(), (object) => {
      expect(before.validateObject(object)).toEqual(then.validateObject(object))
    }),
  )
  expect(before.found()).toBeGreaterThan(20)
  expect(then.found()).toBe(0)
  expect([before.read(), then.read()]).toEqual([1, 0])
})
