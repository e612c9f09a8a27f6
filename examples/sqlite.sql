-- SPDX-License-Identifier: Apache-2.0
-- A second or so of work that sqlite3 does in memory: orders of a shop, counted and ranked.
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO customers SELECT i, printf('customer %05d', i * 7919 % 20000), 'town ' || (i % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO orders SELECT i, i * 7919 % 20000 + 1, i * 104729 % 99991, printf('note %x', i * 31337) FROM n;
CREATE INDEX orders_by_customer ON orders(customer, cents);
SELECT count(*), sum(cents) FROM orders;
SELECT town, count(*), sum(cents) FROM orders JOIN customers ON customers.id = orders.customer
    GROUP BY town ORDER BY sum(cents) DESC LIMIT 3;
SELECT customer, cents, rank() OVER (PARTITION BY customer ORDER BY cents DESC) AS place
    FROM orders ORDER BY place DESC, cents LIMIT 3;
SELECT count(*) FROM orders WHERE note LIKE '%7a%7%';
