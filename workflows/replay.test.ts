import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { beforeAll, describe, expect, test } from 'vitest'
import { bundlesDir, bundlesLimitBytes, type KeptVersion, keptVersions } from '../test/bundles/kept.ts'
import {
  corpusLimitBytes,
  largePayloadsIn,
  leaksIn,
  type RecordedHistory,
  recordedHistories,
} from '../test/histories/corpus.ts'
import { quietRuntime } from '../test/runner/quiet-runtime.ts'
import { buildWorkflowBundle, bundleDigest, readBundle } from '../workers/bundle.ts'

let code: string
let histories: readonly RecordedHistory[]
const kept = await keptVersions()

beforeAll(async () => {
  quietRuntime()
  ;[code, histories] = await Promise.all([buildWorkflowBundle(), recordedHistories()])
}, 60_000)

/** Replays histories with a bundle. Returns the failures by name. */
async function failures(bundle: string, recorded: readonly RecordedHistory[]): Promise<Record<string, Error>> {
  const found: Record<string, Error> = {}
  const inputs = recorded.map(({ name, text }) => ({ workflowId: name, history: historyFromJSON(JSON.parse(text)) }))
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle: { code: bundle } }, inputs))
    if (error !== undefined) found[workflowId] = error
  return found
}

function recorded(name: string): RecordedHistory {
  const found = histories.find((history) => history.name === name)
  if (found === undefined) throw new Error(`no history ${name} is recorded; run npm run record-histories`)
  return found
}

/** Returns the bundle with the calls of two activities swapped. Errors: throws unless each is called in exactly one place. */
function swapped(one: string, other: string): string {
  const call = (activity: string) => `.${activity}.executeWithOptions(`
  for (const activity of [one, other]) {
    const places = code.split(call(activity)).length - 1
    if (places !== 1) throw new Error(`the bundle calls ${activity} in ${places} places, not one`)
  }
  return code.replace(call(one), '\0').replace(call(other), call(one)).replace('\0', call(other))
}

/**
 * Returns the bundle with a timer before all other steps of a lifecycle; behind `patched()` when a patch is named. Errors: throws when the place is
 * not found.
 */
function withNewStep(patch?: string): string {
  const sdk = /\(0,(_temporalio_workflow__\w+)\.setHandler\)\([^;]+pokeSignal, \(_, leaving\)=>lifecycle/.exec(
    code,
  )?.[1]
  const begin = `return ${sdk}.CancellationScope.nonCancellable(()=>lifecycle.run());`
  if (sdk === undefined || code.split(begin).length !== 2)
    throw new Error('the bundle begins lifecycles in another way')
  const isWanted = patch === undefined ? '' : `if ((0,${sdk}.patched)('${patch}')) `
  return code.replace(begin, `${isWanted}await (0,${sdk}.sleep)(1);${begin}`)
}

describe('the recorded histories', () => {
  test('cover every workflow type and stay small', () => {
    expect(new Set(histories.map(({ workflowType }) => workflowType))).toEqual(
      new Set([
        'disruptionCommand',
        'disruptionLoop',
        'disruptionPass',
        'maintenance',
        'nodeClaimLifecycle',
        'provisioningLoop',
      ]),
    )
    expect(histories.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(corpusLimitBytes)
  })

  test('hold names and outcomes, no payload above 4 KiB', () => {
    expect(histories.flatMap(({ name, text }) => largePayloadsIn(text).map((large) => `${name}: ${large}`))).toEqual([])
    const planted = JSON.stringify({ data: Buffer.alloc(4097, 'a').toString('base64') })
    expect(largePayloadsIn(`[${planted}]`)).toEqual([expect.stringMatching(/^4097 bytes: aaa/)])
  })

  test('hold no secret', () => {
    expect(histories.flatMap(({ name, text }) => leaksIn(text).map((leak) => `${name}: ${leak}`))).toEqual([])
    const [first] = histories
    const planted = JSON.stringify({ data: Buffer.from('"abcdef.0123456789abcdef"').toString('base64') })
    expect(leaksIn(`[${first?.text},${planted}]`)).toEqual(['a bootstrap token'])
  })

  test('replay with the workflows as they are now', async () => {
    expect(await failures(code, histories)).toEqual({})
  }, 60_000)
})

describe.each(kept)('version $version', ({ bundle, histories: released }: KeptVersion) => {
  test('is whole: its own bundle replays its histories, lifecycles among them', async () => {
    expect(released.map(({ name }) => name)).toContain('nodeClaimLifecycle.plain')
    expect(await failures(await readBundle(bundle), released)).toEqual({})
  }, 60_000)

  test('can be upgraded: its histories replay with the workflows as they are now', async () => {
    expect(await failures(code, released)).toEqual({})
  }, 60_000)

  test('is guarded: the gate fails on a change that its lifecycles cannot replay', async () => {
    const lifecycles = released.filter(({ workflowType }) => workflowType === 'nodeClaimLifecycle')
    const found = await failures(swapped('drain', 'deleteInstance'), lifecycles)
    expect(Object.keys(found).toSorted()).toEqual(lifecycles.map(({ name }) => name))
    for (const error of Object.values(found)) expect(error).toBeInstanceOf(DeterminismViolationError)
  }, 60_000)

  test('holds no secret', () => {
    expect(released.flatMap(({ name, text }) => leaksIn(text).map((leak) => `${name}: ${leak}`))).toEqual([])
  })
})

describe('kept versions', () => {
  test('exist: without one nothing is compared with released versions', () => {
    expect(kept).not.toEqual([])
  })

  test('stay small together', async () => {
    const entries = await readdir(bundlesDir, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(bundlesLimitBytes)
  })

  test('are not what package.json names, unless the workflow code is the same: raise the version, or keep it once more before its release', async () => {
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
    const released = kept.find((each) => each.version === version)
    const digest = released === undefined ? undefined : bundleDigest(await readBundle(released.bundle))
    expect([undefined, bundleDigest(code)]).toContain(digest)
  })
})

describe('the gate fails', () => {
  test('on workflow code that runs its steps in another order', async () => {
    const bundle = swapped('drain', 'deleteInstance')
    const found = await failures(bundle, [recorded('nodeClaimLifecycle.plain')])
    expect(found['nodeClaimLifecycle.plain']).toBeInstanceOf(DeterminismViolationError)
  })

  test('on a loop that calls another activity', async () => {
    const bundle = swapped('readPause', 'endReboot')
    const found = await failures(bundle, [recorded('provisioningLoop.pause')])
    expect(found['provisioningLoop.pause']).toBeInstanceOf(DeterminismViolationError)
  })

  test('on a step that is new, unless it is behind patched()', async () => {
    const lifecycles = histories.filter(({ workflowType }) => workflowType === 'nodeClaimLifecycle')
    const found = await failures(withNewStep(), lifecycles)
    expect(Object.keys(found).toSorted()).toEqual(lifecycles.map(({ name }) => name))
    for (const error of Object.values(found)) expect(error).toBeInstanceOf(DeterminismViolationError)
    expect(await failures(withNewStep('new-step'), lifecycles)).toEqual({})
  })

  test('on a history in which a step was another one', async () => {
    const { name, workflowType, text } = recorded('nodeClaimLifecycle.plain')
    const altered = { name, workflowType, text: text.replace('"name":"launch"', '"name":"giveUp"') }
    expect((await failures(code, [altered]))[name]).toBeInstanceOf(DeterminismViolationError)
  })
})
