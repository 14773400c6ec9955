import * as fc from 'fast-check'
import { methodFacts, methodNames } from '../../core/disruption/command.ts'
import type { Birth, CommandFacts, Death, History, Life, RefusedCapacity, VmSpan } from '../../core/history/life.ts'

const hour = 3_600_000
const begin = Date.UTC(2026, 10, 17)
const days = 7 * 24 * hour

/** Texts that tenants choose; `hostile` ones try to be markup. */
export const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        '<script>alert(1)</script>',
        '<img src=x onerror=alert(1)>',
        '|',
        '\\',
        '\\|',
        '`',
        '``',
        '</code>',
        '\n\n# x\n',
        '\r',
        '\u001b[2J',
        '\u202e',
        '[x](javascript:alert(1))',
        '![x](http://evil.example/x.png)',
        'http://evil.example',
        'www.evil.example',
        '@octocat',
        '#1',
        '**',
        '_',
        '~~',
        '&lt;',
        '&#60;',
        '--|--',
        '- ',
        ' ',
        '\t',
        '"',
        "'",
        '<!--',
        'a',
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('')),
)
const plainText = fc.constantFrom('general', 'gpu', 'spot', 'aks-a', 'a', 'b')

const time = fc.integer({ min: begin - days, max: begin + days })
const later = (ms: number, most = 2 * hour) => fc.integer({ min: 0, max: most }).map((more) => ms + more)

function birth(text: fc.Arbitrary<string>): fc.Arbitrary<Birth> {
  return fc.oneof(
    fc.record({ kind: fc.constant('pods' as const), pods: fc.nat(200) }),
    fc.record({ kind: fc.constant('replacement' as const), command: text, replaces: fc.array(text, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('static' as const), replicas: fc.nat(1000) }),
    fc.record({ kind: fc.constant('by-hand' as const) }),
  )
}

function death(text: fc.Arbitrary<string>): fc.Arbitrary<Death> {
  return fc.oneof(
    fc.record({
      kind: fc.constant('disruption' as const),
      command: text,
      reason: fc.constantFrom('Empty' as const, 'Drifted' as const, 'Underutilized' as const),
    }),
    fc.record({
      kind: fc.constantFrom(
        'interrupted' as const,
        'repaired' as const,
        'expired' as const,
        'forced' as const,
        'vm-lost' as const,
        'scaled-down' as const,
        'node-gone' as const,
      ),
      message: text,
    }),
    fc.record({ kind: fc.constant('gave-up' as const), reason: text, message: text }),
    fc.record({ kind: fc.constant('deleted' as const) }),
  )
}

function offering(text: fc.Arbitrary<string>): fc.Arbitrary<RefusedCapacity> {
  return fc.record({
    instanceType: fc.oneof(text, fc.constantFrom('Standard_D4s_v5', 'Standard_D8s_v5')),
    zone: fc.constantFrom('westus2-1', 'westus2-2', ''),
    capacityType: fc.constantFrom('spot', 'on-demand'),
    reason: text,
  })
}

function vms(text: fc.Arbitrary<string>, createdMs: number): fc.Arbitrary<readonly VmSpan[]> {
  return fc.array(
    fc
      .tuple(
        offering(text),
        later(createdMs),
        fc.option(fc.nat(hour)),
        fc.option(fc.double({ min: 0, max: 9, noNaN: true })),
      )
      .map(([{ instanceType, zone, capacityType }, fromMs, lasted, price]) => ({
        instanceType,
        zone,
        capacityType,
        fromMs,
        ...(lasted === null ? {} : { toMs: fromMs + lasted }),
        ...(price === null ? {} : { pricePerHour: price }),
      })),
    { maxLength: 3 },
  )
}

function life(text: fc.Arbitrary<string>): fc.Arbitrary<Life> {
  return fc
    .tuple(time, fc.option(text), fc.option(fc.nat(hour)), fc.option(fc.nat(days)), fc.uuid(), fc.nat(100))
    .chain(([createdMs, nodePool, readyAfter, livedMs, uid, number]) =>
      fc
        .record({
          vms: vms(text, createdMs),
          came: birth(text),
          went: fc.option(death(text)),
          refused: fc.array(offering(text), { maxLength: 5 }),
          nodeClaim: fc.oneof(text, fc.constant(`claim-${number}`)),
          drainedPods: fc.nat(50),
        })
        .map(({ went, ...facts }) => ({
          ...facts,
          uid,
          workflowId: uid,
          runId: 'run',
          createdMs,
          ...(nodePool === null ? {} : { nodePool }),
          ...(readyAfter === null
            ? {}
            : { registeredMs: createdMs + Math.floor(readyAfter / 2), readyMs: createdMs + readyAfter }),
          ...(livedMs === null
            ? {}
            : { endedMs: createdMs + livedMs, drainingMs: createdMs + Math.floor(livedMs * 0.9) }),
          ...(went === null ? {} : { went }),
          isRunning: livedMs === null,
          attempts: 1,
          labels: {},
        })),
    )
}

function command(text: fc.Arbitrary<string>): fc.Arbitrary<CommandFacts> {
  return fc
    .record({
      method: fc.constantFrom(...methodNames),
      decision: fc.constantFrom('delete' as const, 'replace' as const, 'terminate-first' as const),
      candidates: fc.array(text, { maxLength: 4 }),
      replacements: fc.array(text, { maxLength: 4 }),
      savings: fc.double({ min: -5, max: 50, noNaN: true }),
      startedMs: time,
      lasted: fc.option(fc.nat(hour)),
      outcome: fc.option(fc.constantFrom('done' as const, 'undone' as const)),
      message: fc.option(text),
      id: fc.uuid(),
    })
    .map(({ lasted, outcome, message, ...facts }) => ({
      ...facts,
      reason: methodFacts[facts.method].reason,
      ...(lasted === null ? {} : { endedMs: facts.startedMs + lasted }),
      ...(outcome === null || lasted === null ? {} : { outcome }),
      ...(message === null ? {} : { message }),
    }))
}

/** Histories of a week; some of what they contain lies outside of it. */
export function arbitraryHistory(text: fc.Arbitrary<string> = plainText, most = 30): fc.Arbitrary<History> {
  return fc
    .record({
      lives: fc.array(life(text), { maxLength: most }),
      commands: fc.array(command(text), { maxLength: most }),
      sinceMs: fc.integer({ min: begin - days / 2, max: begin }),
      untilMs: fc.integer({ min: begin, max: begin + days }),
      retention: fc.option(fc.constant(days)),
      unreadable: fc.nat(3),
    })
    .map(({ retention, ...history }) => ({ ...history, ...(retention === null ? {} : { retentionMs: retention }) }))
}
