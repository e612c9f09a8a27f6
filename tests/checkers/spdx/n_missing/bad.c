int kymo_f(int a);
