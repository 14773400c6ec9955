import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { counted, dollars, percent } from '../../../document/words.ts'
import type { CostLine, CostReport } from '../../contract.ts'
import { type Column, TitledTable } from '../parts/data-table.tsx'
import { DaysChoice, Figure, Loaded, Texts } from '../parts/elements.tsx'
import { useResource } from '../state/api.ts'
import { type CostSeries, costSeries } from '../state/cost-series.ts'
import { hourTime, momentTime, now, shortDayName } from '../state/format.ts'
import { theme } from '../state/theme.ts'

const days = signal(7)

/** What the nodes cost, what was saved, and where it went. */
export function CostPage() {
  const fiveMinutes = Math.floor(now.value / 300_000)
  const cost = useResource<CostReport>(`api/cost?days=${days.value}`, [fiveMinutes])
  return (
    <>
      <header class="page-head">
        <h1>Cost</h1>
        <DaysChoice days={days} />
      </header>
      <Loaded resource={cost} what="the cost">
        {(known) => <Report report={known} />}
      </Loaded>
    </>
  )
}

function Report({ report }: { readonly report: CostReport }) {
  const { total, saved, idle, forecastMonth, hours, byNodePool, byNamespace, notes } = report
  return (
    <>
      <dl class="totals">
        <Figure name={days.value === 1 ? 'Last 24 hours' : `Last ${days.value} days`} value={dollars(total)} />
        <Figure name="Saved by disruption" value={dollars(saved)} />
        <Figure
          name="Idle: requested by no pod"
          value={idle === undefined ? 'not known' : dollars(idle)}
          {...(idle === undefined ? {} : { more: `${percent(idle, total)} of the sum` })}
        />
        <Figure
          name="Forecast for this month"
          value={forecastMonth === undefined ? 'not known' : dollars(forecastMonth)}
        />
      </dl>
      <Texts label="What to know about these numbers" look="plain-notes" texts={notes} />
      <section class="card" aria-labelledby="plot-title">
        <h2 id="plot-title">Each hour by NodePool</h2>
        <CostPlot hours={hours} />
      </section>
      <div class="columns even">
        <Lines title="By NodePool" first="NodePool" none="without a NodePool" lines={byNodePool} whole={total} />
        <Lines title="By namespace" first="Namespace" none="no namespace" lines={byNamespace} whole={total} />
      </div>
    </>
  )
}

interface LinesProps {
  readonly title: string
  readonly first: string
  readonly none: string
  readonly lines: readonly CostLine[]
  /** USD that the shares are of. */
  readonly whole: number
}

function Lines({ title, first, none, lines, whole }: LinesProps) {
  const columns: readonly Column<CostLine>[] = [
    [first, ({ key }) => (key === '' ? none : key), 'free'],
    ['Cost', ({ usd: amount }) => dollars(amount), 'number'],
    ['Share', ({ usd: amount }) => <Share amount={amount} whole={whole} />, 'number share'],
    ['Node hours', ({ nodeHours: hours }) => (hours === undefined ? '–' : Math.round(hours * 10) / 10), 'number'],
  ]
  const hasHours = lines.some(({ nodeHours }) => nodeHours !== undefined)
  return (
    <TitledTable
      title={title}
      none="Nothing is known of this time."
      columns={hasHours ? columns : columns.slice(0, -1)}
      rows={lines}
      keyOf={({ key }) => key}
    />
  )
}

function Share({ amount, whole }: { readonly amount: number; readonly whole: number }) {
  return (
    <>
      <span class="meter-track" aria-hidden="true">
        <span class="meter-fill" style={{ width: `${whole > 0 ? (amount / whole) * 100 : 0}%` }} />
      </span>
      <span class="share-value">{percent(amount, whole)}</span>
    </>
  )
}

const height = 280

/** Dollars of each hour by NodePool, one on the other. The table below it has the same sums. */
function CostPlot({ hours }: { readonly hours: CostReport['hours'] }) {
  const frame = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | undefined>()
  const series = useMemo(() => costSeries(hours), [hours])
  const isDark = useDarkness()
  useEffect(() => {
    const element = frame.current
    if (element === null || series.times.length === 0) return undefined
    const plot = new uPlot(optionsOf(series, element, setAt), dataOf(series), element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [series, isDark])
  if (series.times.length === 0) return <p class="empty">No hour of this time is known.</p>
  return (
    <>
      <div
        ref={frame}
        class="plot"
        role="img"
        aria-label="Dollars of each hour by NodePool; the table has their sums"
      />
      <ul class="plot-legend" aria-label="NodePools of the plot">
        {series.pools.map(({ name, own }, index) => (
          <li key={name}>
            <span class="swatch" data-colour={index} aria-hidden="true" />
            {name === '' ? 'without a NodePool' : name}
            {at !== undefined && <span class="number">{usdOr(own[at])}</span>}
          </li>
        ))}
        {at !== undefined && <li class="quiet-text number">{momentTime((series.times[at] ?? 0) * 1000)}</li>}
      </ul>
      {series.unknown > 0 && (
        <p class="quiet-text">
          {counted(series.unknown, 'hour is', 'hours are')} unknown: gaps in the plot, and in no sum.
        </p>
      )}
    </>
  )
}

const usdOr = (amount: number | null | undefined) =>
  amount === null || amount === undefined ? 'not known' : dollars(amount)

/** Whether the page is dark now; a plot does not follow by itself. */
function useDarkness(): boolean {
  const query = useMemo(() => matchMedia('(prefers-color-scheme: dark)'), [])
  const [isSystemDark, set] = useState(query.matches)
  useEffect(() => {
    const listen = () => set(query.matches)
    query.addEventListener('change', listen)
    return () => query.removeEventListener('change', listen)
  }, [query])
  return theme.value === 'auto' ? isSystemDark : theme.value === 'dark'
}

/** The topmost first: each area is drawn over by those below it. */
const dataOf = ({ times, pools }: CostSeries): uPlot.AlignedData => [
  [...times],
  ...pools.toReversed().map(({ stacked }) => [...stacked]),
]

function optionsOf(
  { pools }: CostSeries,
  element: HTMLElement,
  onHour: (index: number | undefined) => void,
): uPlot.Options {
  const colour = (name: string) => colourOf(element, name)
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map(timeText) },
      { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => dollars(tick)) },
    ],
    series: [
      {},
      ...pools.toReversed().map((_, index) => {
        const name = `--series-${pools.length - 1 - index}`
        return {
          stroke: colour('--surface'),
          width: 1,
          fill: colour(name),
          points: { show: false },
          ...(uPlot.paths.stepped === undefined ? {} : { paths: uPlot.paths.stepped({ align: 1 }) }),
        }
      }),
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onHour(idx ?? undefined)] },
  }
}

/** The day at midnight, else the hour. */
function timeText(seconds: number): string {
  const time = new Date(seconds * 1000)
  return time.getHours() === 0 && time.getMinutes() === 0 ? shortDayName(seconds * 1000) : hourTime(seconds * 1000)
}

/** A colour of the style sheet as a canvas understands it: resolved for the theme. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
