// SPDX-License-Identifier: MIT
//
// The part of Google Charts that the profiler plugin's page uses, so that it draws without the
// internet. Tables become <table>, charts SVG with their numbers readable in the DOM.
'use strict';
(() => {
    const COLORS = ['#3366cc', '#dc3912', '#ff9900', '#109618', '#990099', '#0099c6', '#dd4477',
                    '#66aa00', '#b82e2e', '#316395'];
    const WIDTH = 880, LEFT = 80, BOTTOM = 28, TOP = 30;

    class DataTable {
        constructor() { this.columns = []; this.rows = []; }
        addColumn(column, label) {
            this.columns.push(typeof column === 'object' ? column : { type: column, label });
        }
        addRow(row) { this.rows.push(row); }
        addRows(rows) { rows.forEach(row => this.addRow(row)); }
        setProperty() {}
        getNumberOfRows() { return this.rows.length; }
        getNumberOfColumns() { return this.columns.length; }
        value(row, column) {
            const cell = this.rows[row][column];
            return cell && typeof cell === 'object' && 'v' in cell ? cell.v : cell;
        }
        number(row, column) { return Number(this.value(row, column)) || 0; }
        label(column) { return this.columns[column].label || this.columns[column].id || ''; }
        // Columns with a role (tooltips) carry no data of their own.
        shown() { return this.columns.map((_, i) => i).filter(i => !this.columns[i].role); }
    }

    function arrayToDataTable(rows) {
        const table = new DataTable();
        rows[0].forEach(head => table.addColumn(typeof head === 'object' ? head : { label: head }));
        table.addRows(rows.slice(1));
        return table;
    }

    const round = x => Math.abs(x) >= 100 ? Math.round(x).toLocaleString('en') : +x.toPrecision(3);

    class Chart {
        constructor(container) { this.container = container; this.listeners = {}; }
        draw(table, options = {}) {
            this.clearChart();
            this.container.dataset.chart = this.constructor.name;
            this.table = table;
            this.options = options;
            this.colors = options.colors || COLORS;
            this.render();
            setTimeout(() => (this.listeners.ready || []).forEach(call => call()));
        }
        clearChart() { this.container.replaceChildren(); }
        setSelection() {}
        getSelection() { return []; }
        getChartLayoutInterface() {
            return {
                getHAxisValue: x => x,
                getChartAreaBoundingBox: () => ({ left: 0, top: 0, width: 1, height: 1 }),
            };
        }
        color(i) { return this.colors[i % this.colors.length]; }
        canvas(height, width = WIDTH) {
            this.height = height;
            this.svg = this.element('svg', { viewBox: `0 0 ${width} ${height}`, width: '100%',
                                             height, 'font-family': 'Roboto, sans-serif',
                                             'font-size': 12 }, this.container);
        }
        element(name, attributes, parent = this.svg, text = '') {
            const node = document.createElementNS('http://www.w3.org/2000/svg', name);
            Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
            node.textContent = text;
            return parent.appendChild(node);
        }
        legend(names) {
            const line = document.createElement('div');
            line.style.cssText = 'font: 12px Roboto, sans-serif; padding: 2px 12px';
            names.forEach((name, i) => {
                const entry = line.appendChild(document.createElement('span'));
                entry.style.cssText = `display: inline-block; margin-right: 16px;
                                       border-left: 12px solid ${this.color(i)}; padding-left: 5px`;
                entry.textContent = name;
            });
            this.container.appendChild(line);
        }
        // A vertical axis from 0 to `most`; returns the function from value to y.
        axis(most) {
            const y = value => this.height - BOTTOM -
                value / (most || 1) * (this.height - BOTTOM - TOP);
            for (let i = 0; i <= 4; i++) {
                const value = most * i / 4;
                this.element('line', { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value),
                                       stroke: '#ddd' });
                this.element('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end',
                                       fill: '#444' }, this.svg, round(value));
            }
            const { title, vAxis, hAxis } = this.options;
            const text = (x, y, anchor, what) => this.element('text',
                { x, y, 'text-anchor': anchor, fill: '#222' }, this.svg, what || '');
            text(LEFT, 18, 'start', [title, vAxis && vAxis.title].filter(Boolean).join(' - '));
            text(WIDTH, this.height - 2, 'end', hAxis && hAxis.title);
            return y;
        }
    }

    class Table extends Chart {
        render() {
            const html = this.container.appendChild(document.createElement('table'));
            html.style.cssText = 'border-collapse: collapse; width: 100%; font: 13px sans-serif';
            const add = (row, text, tag) => {
                const cell = row.appendChild(document.createElement(tag));
                cell.style.cssText = 'border: 1px solid #ddd; padding: 3px 6px; text-align: left';
                cell.textContent = text;
            };
            const head = html.insertRow();
            this.table.shown().forEach(column => add(head, this.table.label(column), 'th'));
            this.table.rows.slice(0, this.options.pageSize).forEach((_, r) => {
                const row = html.insertRow();
                this.table.shown().forEach(column => add(row, this.table.value(r, column), 'td'));
            });
        }
    }

    class StackedBars extends Chart {
        render() {
            const [first, ...series] = this.table.shown();
            const sums = this.table.rows.map((_, r) =>
                series.reduce((sum, column) => sum + this.table.number(r, column), 0));
            this.canvas(this.options.height || 300);
            const y = this.axis(Math.max(...sums, 0)), base = y(0);
            const slot = (WIDTH - LEFT) / (sums.length || 1), bar = Math.min(slot * 0.8, 90);
            this.table.rows.forEach((_, r) => {
                const middle = LEFT + slot * (r + 0.5);
                let top = base;
                series.forEach((column, i) => {
                    const tall = base - y(this.table.number(r, column));
                    top -= tall;
                    this.element('rect', { x: middle - bar / 2, y: top, width: bar,
                                           height: Math.max(tall, 0), fill: this.color(i) });
                });
                this.element('text', { x: middle, y: this.height - 12, 'text-anchor': 'middle',
                                       fill: '#444' }, this.svg, this.table.value(r, first));
            });
            this.legend(series.map(column => this.table.label(column)));
        }
    }
    class ColumnChart extends StackedBars {}
    class ComboChart extends StackedBars {}
    class SteppedAreaChart extends StackedBars {}

    class LineChart extends Chart {
        render() {
            const [first, ...series] = this.table.shown();
            const xs = this.table.rows.map((_, r) => this.table.number(r, first));
            const least = Math.min(...xs), span = Math.max(...xs) - least || 1;
            const most = Math.max(0, ...series.map(column =>
                this.table.rows.reduce((m, _, r) => Math.max(m, this.table.number(r, column)), 0)));
            this.canvas(this.options.height || 400);
            const y = this.axis(most), x = value => LEFT + (value - least) / span * (WIDTH - LEFT);
            series.forEach((column, i) => this.element('polyline', {
                fill: 'none', stroke: this.color(i), 'stroke-width': 1.5,
                points: xs.map((at, r) => `${x(at)},${y(this.table.number(r, column))}`).join(' '),
            }));
            [0, 0.25, 0.5, 0.75].forEach(part => this.element('text',
                { x: x(least + part * span), y: this.height - 12, fill: '#444' }, this.svg,
                round(least + part * span)));
            this.legend(series.map(column => this.table.label(column)));
        }
    }

    class PieChart extends Chart {
        render() {
            const sum = this.table.rows.reduce((total, _, r) => total + this.table.number(r, 1), 0);
            this.canvas(this.options.height || 220, 600);
            const radius = this.height / 2 - 8, middle = this.height / 2;
            const point = turn => `${middle + radius * Math.sin(turn * 2 * Math.PI)} ` +
                `${middle - radius * Math.cos(turn * 2 * Math.PI)}`;
            let turn = 0;
            this.table.rows.forEach((_, r) => {
                // A whole circle's arc would begin where it ends and vanish.
                const part = Math.min(this.table.number(r, 1) / (sum || 1), 0.99999);
                this.element('path', { fill: this.color(r), d: `M${middle} ${middle} ` +
                    `L${point(turn)} A${radius} ${radius} 0 ${part > 0.5 ? 1 : 0} 1 ` +
                    `${point(turn + part)}Z` });
                turn += part;
                this.element('text', { x: this.height + 22, y: 20 + 18 * r, fill: '#222' },
                             this.svg, `${this.table.value(r, 0)} ${(100 * part).toFixed(1)}%`);
                this.element('rect', { x: this.height + 4, y: 10 + 18 * r, width: 12, height: 12,
                                       fill: this.color(r) });
            });
            this.element('circle', { cx: middle, cy: middle, r: radius * 0.4, fill: '#fff' });
        }
    }

    class Timeline extends Chart {
        render() {
            const { table } = this;
            const starts = table.rows.map((_, r) => table.number(r, 3));
            const ends = table.rows.map((_, r) => table.number(r, 4));
            const least = starts.reduce((a, b) => Math.min(a, b), Infinity);
            const span = ends.reduce((a, b) => Math.max(a, b), -Infinity) - least || 1;
            this.canvas(this.options.height || 300);
            table.rows.forEach((_, r) => {
                const x = (starts[r] - least) / span * WIDTH, y = 50 * table.number(r, 0) + 6;
                const width = Math.max((ends[r] - starts[r]) / span * WIDTH, 0.5);
                this.element('rect', { x, y, width, height: 38, fill: this.color(r) });
                if (width > 8 * String(table.value(r, 1)).length)
                    this.element('text', { x: x + 4, y: y + 24, fill: '#fff' }, this.svg,
                                 table.value(r, 1));
            });
        }
    }

    const events = {
        addListener(chart, name, call) { (chart.listeners[name] ||= []).push(call); },
    };
    window.google = {
        charts: { load: () => Promise.resolve(), setOnLoadCallback: call => call() },
        visualization: { DataTable, arrayToDataTable, Table, ColumnChart, ComboChart,
                         SteppedAreaChart, LineChart, PieChart, Timeline, events },
    };
})();
