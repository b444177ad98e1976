// The matrix part: one number of each of many like things (CPUs) at a glance, either now, a cell each, or over time, a
// row each and a column a frame. For machines on which a table does not fit any more: nothing is left out, where there
// is no room for all a cell stands for several and shows the highest.
#ifndef VIEWS_PART_MATRIX_H
#define VIEWS_PART_MATRIX_H

#include "views/view.h"

struct matrix_measure {
    const char *name;    // as it is shown and chosen: "busy"
    const char *help;    // what it is, a few words
    const char *table;   // of the frame; its first column tells the things apart by number
    const char *columns; // one, or with `rest` several with blanks between
    bool rest;           // not the columns but what they leave of 100
    double full;         // the hottest there can be; 0: the highest that is shown
    enum unit unit;
};

struct matrix_spec {
    const struct matrix_measure *measures; // ends with name NULL; the first table says which things there are
    const char *thing;                     // "CPU"
    const char *group;                     // a column of the first table, a number: its things stand together; or NULL
    const char *group_name;                // "node"
    uint16_t from;                         // shown by itself from so many things on; before, by its key
    const char *list; // the part of the pane with the table: Enter shows the thing there; NULL: none
};

extern const struct part_kind part_matrix;

#endif
